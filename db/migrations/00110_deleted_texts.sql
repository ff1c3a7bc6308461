-- What was deleted is not read again.

-- As in 00066, but not of a deleted conversation.
create or replace function gateway.response_input(uid uuid, turn_id uuid) returns jsonb
    language plpgsql stable set search_path = '' as $$
begin
    perform gateway.check_caller(uid);
    return (
        select jsonb_build_object(
            'message_id', m.id, 'content', m.content, 'is_of_response', c.source = 'openai',
            'is_latest', not exists (
                select from public.turns o
                where o.user_id = gateway.user_id() and o.conversation_id = t.conversation_id and o.seq > t.seq and o.deleted_at is null
                    and o.status <> 'failed'))
        from public.turns t
        join public.messages m on m.user_id = t.user_id and m.id = t.user_message_id
        join public.conversations c on c.user_id = t.user_id and c.id = t.conversation_id
        where t.user_id = gateway.user_id() and t.id = $2 and t.deleted_at is null and c.deleted_at is null);
end $$;

-- A summary that was being made while one of its turns was deleted had that turn's text, and was saved. How many messages it is made of; NULL: begun before.
alter table gateway.running_summaries add column messages integer;

do $do$
declare
    changed text;
    old text;
    new text;
begin
    for changed, old, new in values
        -- The words of a text that is deleted leave the index at once, also of a user who never searches again.
        ('gateway.delete_response(uuid,uuid)',
            'where m.user_id = uid and m.conversation_id = turn.conversation_id and m.turn_id = turn.id;',
            'where m.user_id = uid and m.conversation_id = turn.conversation_id and m.turn_id = turn.id;
    update public.message_words w set words = ''''
    from public.messages m
    where w.user_id = uid and w.message_id = m.id and m.user_id = uid and m.conversation_id = turn.conversation_id and m.turn_id = turn.id;'),
        -- A dry run of routing counts them no more.
        ('operator.routed_messages_2(integer)', 'and not c.ephemeral', 'and not c.ephemeral and c.deleted_at is null'),
        ('operator.routed_messages_2(integer)',
            'where o.user_id = p.id and o.id = newest.turn_id limit 1', 'where o.user_id = p.id and o.id = newest.turn_id and o.deleted_at is null limit 1'),
        ('gateway.begin_summary(uuid,uuid,uuid,integer,integer,boolean,jsonb)',
            'reserved_usd, reserved_tokens)
    values (uid, today, $3, $4, nth, reserve, reserve_tokens);',
            'reserved_usd, reserved_tokens, messages)
    values (uid, today, $3, $4, nth, reserve, reserve_tokens, jsonb_array_length(past));'),
        ('gateway.finish_summary(uuid,jsonb,boolean)',
            'declare
    ended gateway.running_summaries;
begin',
            'declare
    ended gateway.running_summaries;
    is_running boolean;
begin'),
        ('gateway.finish_summary(uuid,jsonb,boolean)',
            'returning s.* into ended;
    if found then',
            'returning s.* into ended;
    is_running := found;
    if is_running then'),
        -- When the call was ended before, whatever is missing may have been deleted since.
        ('gateway.finish_summary(uuid,jsonb,boolean)',
            'and gateway.allows_summaries(uid, requires_consent);',
            'and gateway.allows_summaries(uid, requires_consent) and (
            select count(*) = case when is_running then coalesce(ended.messages, count(*))
                else (receipt ->> ''through'')::integer - (receipt ->> ''from'')::integer end
            from public.messages m
            where m.user_id = gateway.user_id() and m.conversation_id = c.id
                and m.seq > (receipt ->> ''from'')::integer and m.seq <= (receipt ->> ''through'')::integer
                and m.status in (''complete'', ''stopped'', ''interrupted'') and m.content <> '''');')
    loop
        if position(old in pg_get_functiondef(changed::regprocedure)) = 0 then
            raise exception '% has not the text that is replaced', changed;
        end if;
        execute replace(pg_get_functiondef(changed::regprocedure), old, new);
    end loop;
end $do$;
