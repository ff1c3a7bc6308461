-- `unsummarised` counted places in the conversation, also those of failed messages, of turns without an answer and of superseded answers, which no history has.
-- After one of them each later turn asked for a summary although all messages were in its prompt: it was made, and billed, long before it was due. And
-- a history beside a summary began with as many messages that the summary covers.

-- The messages between two places of a conversation that a history can have; if they are more than 200 places apart, the number of places, because the
-- messages are counted at every turn.
create function gateway.unsummarised_messages(uid uuid, conversation_id uuid, after_seq integer, before_seq integer) returns integer
    language plpgsql stable as $$
declare
    places constant integer := before_seq - 1 - after_seq;
begin
    if places not between 1 and 200 then
        return places;
    end if;
    return (
        select count(*)
        -- Sorted, for the index of the conversation.
        from (
            select m.seq
            from public.messages m
            where m.user_id = gateway.user_id() and m.conversation_id = $2 and m.seq > $3 and m.seq < $4
                and m.status in ('complete', 'stopped', 'interrupted') and m.content <> ''
            order by m.seq
            limit 200
        ) message);
end $$;

create or replace function gateway.past_messages(
    uid uuid, conversation gateway.turn_conversation, conversation_id uuid, seq integer, limits jsonb) returns json
    language sql stable
    return case when seq > 1 then gateway.history(
        uid, conversation_id, seq, coalesce((limits ->> 'tokens')::integer, 0),
        least(
            coalesce((limits ->> 'messages')::integer, 0),
            case when conversation.summary is not null and conversation.summarised_through < seq
                then gateway.unsummarised_messages(uid, conversation_id, conversation.summarised_through, seq) end)) end;

create or replace function gateway.begun_answer(
    begun gateway.begun_turn, plan gateway.turn_plan, person gateway.turn_user, conversation gateway.turn_conversation,
    persona public.persona_versions, rate jsonb, message text, history json, safety_level integer, pinned public.coaching_domain,
    earlier_risk jsonb) returns json
    language sql stable
    as $$ select json_build_object(
        'outcome', 'begun',
        'rate', rate,
        'turn', json_build_object(
            'turn_id', begun.id, 'conversation_id', begun.conversation_id, 'user_message_id', begun.user_message_id,
            'message_id', begun.message_id, 'attempt', begun.attempt),
        'day', plan.day,
        'calls_model', plan.calls_model,
        'tier', plan.tier,
        'message', message,
        'seq', begun.seq,
        'is_minor', coalesce(person.is_minor, false),
        'disclosure', plan.disclosure,
        'profile', person.profile,
        'summary', case when conversation.summarised_through < begun.seq then conversation.summary end,
        'unsummarised', case when conversation.summarised_through < begun.seq
            then gateway.unsummarised_messages(gateway.user_id(), begun.conversation_id, conversation.summarised_through, begun.seq) end,
        'history', coalesce(history, '[]'),
        'persona', case when persona.persona_id is not null then json_build_object(
            'id', persona.persona_id, 'name', persona.name, 'domain', gateway.domain_of(persona.domain),
            'tone', gateway.prompt_text(persona.tone), 'methodology', gateway.prompt_text(persona.methodology),
            'personality', gateway.prompt_text(persona.personality)) end,
        'safety_level', safety_level,
        'earlier_risk', earlier_risk,
        'conversation_domain', conversation.domain,
        'pinned_domain', pinned,
        'country', person.country,
        'locale', person.locale) $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function gateway.unsummarised_messages(uuid, uuid, integer, integer) to coach_gateway;
