-- What the stored level of danger is about: a later message that shows none ("what should I pack?", "tonight") is answered with care for the same danger and
-- person. Of the newest message before in the conversation that was a crisis, or else showed some; further back than 20 turns it says little. NULL: none.
create function gateway.earlier_danger(uid uuid, conversation_id uuid, seq integer) returns json
    language sql stable set search_path = ''
    as $$
        select json_build_object('categories', t.risk_categories, 'subject', t.risk_subject)
        from public.messages m
        join public.turns t on t.user_id = m.user_id and t.id = m.turn_id
        where m.user_id = uid and m.conversation_id = $2 and m.seq < $3 and m.seq >= $3 - 40 and m.role = 'user'
            and t.risk_tier > 0 and t.risk_categories <> '{}'
        order by t.risk_tier >= 2 desc, m.seq desc limit 1 $$;

do $do$
declare
    changed text;
    old text;
    new text;
begin
    for changed, old, new in values
        ('gateway.begun_answer(gateway.begun_turn,gateway.turn_plan,gateway.turn_user,gateway.turn_conversation,public.persona_versions,jsonb,text,json,'
            'integer,public.coaching_domain,jsonb)',
            '''safety_level'', safety_level,',
            '''safety_level'', safety_level,
        ''earlier_danger'', case when safety_level > 0 then gateway.earlier_danger(gateway.user_id(), begun.conversation_id, begun.seq) end,'),
        -- What a message takes of a later prompt is its text: a model's output can include its reasoning.
        ('gateway.write_answer(uuid,gateway.ended_turn,integer,jsonb,jsonb,public.finalizer,timestamptz)',
            'coalesce((bill ->> ''output'')::bigint, gateway.estimate_tokens(answer))', 'gateway.estimate_tokens(answer)')
    loop
        if position(old in pg_get_functiondef(changed::regprocedure)) = 0 then
            raise exception '% has not the text that is replaced', changed;
        end if;
        execute replace(pg_get_functiondef(changed::regprocedure), old, new);
    end loop;
end $do$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function gateway.earlier_danger(uuid, uuid, integer) to coach_gateway;
