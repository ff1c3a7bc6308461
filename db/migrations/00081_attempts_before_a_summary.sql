-- The next attempt of a failed turn whose conversation has been summarised beyond it. Its model gets the messages before the turn's own, and no summary:
-- the summary stands for later messages, too. The failed message was in no summary.

create or replace function gateway.past_messages(
    uid uuid, conversation gateway.turn_conversation, conversation_id uuid, seq integer, limits jsonb) returns json
    language sql stable
    return case when seq > 1 then gateway.history(
        uid, conversation_id, seq, coalesce((limits ->> 'tokens')::integer, 0),
        least(
            coalesce((limits ->> 'messages')::integer, 0),
            case when conversation.summary is not null and conversation.summarised_through < seq
                then seq - 1 - conversation.summarised_through end)) end;

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
        'unsummarised', case when conversation.summarised_through < begun.seq then begun.seq - 1 - conversation.summarised_through end,
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
