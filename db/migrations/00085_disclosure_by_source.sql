-- gateway.begin_turn as in 00016, but a turn by OpenAI's protocols does not count as one that gave the notice of talking to a machine: a user whose first
-- turn was one of these got none in the app for three hours.
create or replace function gateway.begin_turn(uid uuid, request jsonb) returns json
    language plpgsql
    set search_path = '' set lock_timeout = '100ms'
    -- Plans are cached, and one made for an empty table would use sequential scans later, too.
    set enable_seqscan = off
    as $$
declare
    -- The empty string, which no stored key is, instead of NULL: a comparison with NULL is planned at the price of a sequential scan.
    key constant text := coalesce(request ->> 'idempotency_key', '');
    fingerprint constant bytea := gateway.request_hash(request);
    -- Its message is that of an earlier turn.
    answers_again constant boolean := request ->> 'retry_of' is not null;
    is_other_request boolean := false;
    is_new boolean;
    message text := request ->> 'message';
    risk gateway.risk := jsonb_populate_record(null::gateway.risk, request -> 'risk');
    pinned public.coaching_domain := request ->> 'domain';
    conversation_id uuid := request ->> 'conversation_id';

    counter public.rate_limits;
    person gateway.turn_user;
    tier jsonb;
    -- Highest stored level over all personas.
    danger integer;
    -- The turn that `retry_of` names, or the one of the key, whose next attempt this is when it failed. Read only then: even a row of NULLs costs.
    earlier public.turns;
    is_repeated boolean := false;
    exempt boolean;
    hit gateway.limit_hit;
    reason text;
    answer jsonb;
    conversation gateway.turn_conversation;
    persona public.persona_versions;
    plan gateway.turn_plan;
    begun gateway.begun_turn;
begin
    -- The user. Counting locks their row, so their other turns wait for this transaction, and what is read now includes what those wrote.
    counter := gateway.count_request(uid, 1);
    plan := gateway.requested_plan(request, clock_timestamp());
    select * into strict person from gateway.turn_user(uid, request, key, plan.moment);
    tier := request #> array['limits', 'tiers', person.tier::text];
    danger := gateway.danger_level(uid, null, person.was_in_danger, request, plan.moment);

    -- What the request repeats: by its key, itself, or another turn's message.
    if person.known_turn is not null then
        select * into strict earlier from public.turns t where t.user_id = uid and t.id = person.known_turn;
        is_other_request := gateway.is_other_request(earlier, fingerprint, conversation_id);
        earlier := gateway.repeated_by(uid, earlier);
        is_repeated := true;
    elsif answers_again then
        earlier := gateway.retried_turn(uid, (request ->> 'retry_of')::uuid);
    end if;
    if answers_again then
        risk := (earlier.risk_tier, earlier.risk_categories, earlier.risk_subject, earlier.risk_patterns);
        person.country := coalesce(earlier.country, person.country);
        person.locale := coalesce(earlier.locale, person.locale);
    end if;
    if person.suspended then
        return gateway.refuse(uid, ('suspended', null, null, null, null), danger, 1, tier, person);
    elsif is_other_request then
        return gateway.refuse(uid, ('idempotency_mismatch', null, null, null, null), danger, 1, tier, person);
    elsif is_repeated and not gateway.needs_attempt(earlier) then
        return gateway.known_answer(uid, earlier.id, danger, tier);
    end if;
    if answers_again or is_repeated then
        pinned := earlier.pinned_domain;
        conversation_id := earlier.conversation_id;
    end if;

    -- The limits. Those but the rate refuse only a turn that nothing else refuses; none refuses a user in danger (CONTRACT §4).
    exempt := coalesce(risk.tier >= 2, false) or danger >= 1;
    hit := gateway.ordinary_limit(uid, counter, tier, cardinality(person.running_in), not is_repeated, plan);
    if hit.reason = 'rate_limited' and not exempt then
        return gateway.refuse(uid, hit, danger, 1, tier, person);
    end if;

    -- The conversation, then the persona, then the domain: the first that is missing or not allowed rejects the turn.
    is_new := conversation_id is null and not answers_again;
    if not is_new then
        select * into conversation from gateway.turn_conversation(uid, conversation_id);
        reason := gateway.conversation_rejection(conversation, plan.source, person.running_in);
    end if;
    if answers_again and reason is null then
        message := gateway.retried_message(uid, earlier, conversation.last_seq);
        reason := case when message is null then 'not_found' end;
    end if;
    if reason is null and gateway.names_persona(request, plan.source) then
        persona := gateway.requested_persona(uid, request);
        reason := gateway.persona_rejection(persona.persona_id, plan.source, exempt);
    end if;
    -- The conversation keeps the persona of its first turn, in the version of then.
    if conversation.persona_id is not null and plan.source <> 'preview' then
        persona := gateway.find_persona(uid, conversation.persona_id, conversation.persona_version);
    end if;
    reason := coalesce(reason, gateway.domain_rejection(pinned, tier, exempt));
    if reason is not null then
        return gateway.refuse(uid, (reason, case reason when 'turn_in_progress' then 1 end, null, null, null), danger, 0, tier, person)
            || case reason when 'subscription_required' then jsonb_build_object('domain', pinned) else '{}' end;
    end if;

    -- Whether a model is called. Budgets that users share are limits, too.
    if hit.reason is null and request ? 'exhausted' then
        hit := gateway.shared_limit(request -> 'exhausted', persona.persona_id, tier ->> 'name', plan);
    end if;
    plan.calls_model := hit.reason is null and (person.consents @> (request -> 'consents')) is not false;
    if not plan.calls_model then
        select d.rejection, d.calls_model into answer, plan.calls_model
        from gateway.decide_limited_turn(uid, request, hit, coalesce(risk.tier >= 2, false), exempt, danger, tier, person) d;
        if answer is not null then
            return answer;
        end if;
    end if;

    -- What the model gets beside the message, and the notice that the user gets; an attempt keeps that of its turn.
    if not gateway.allows_memory(person.consents, request) then
        person.profile := null;
        conversation.summary := null;
        conversation.summarised_through := null;
    end if;
    if is_repeated then
        counter := gateway.uncount(uid, 0, 1);
        plan.disclosure := earlier.disclosure;
    else
        -- The protocols of OpenAI have no place for the notice: one that nobody sees must not count as given.
        plan.disclosure := case when plan.source <> 'openai' then
            gateway.due_disclosure(uid, counter.disclosed_at, person.is_minor, plan.moment) end;
    end if;
    danger := gateway.danger_level(uid, coalesce(persona.persona_id, gateway.no_persona()), danger > 0, request, plan.moment);

    -- The insertion.
    plan.tier := coalesce(tier ->> 'name', '');
    plan.country := person.country;
    plan.locale := person.locale;
    plan.persona_id := persona.persona_id;
    plan.persona_version := persona.version;
    plan.conversation_id := coalesce(conversation.id, gen_random_uuid());
    begun := gateway.write_turn(
        uid, request, risk, fingerprint, earlier,
        case when coalesce(conversation.last_seq, 0) = 0 and conversation.title is null then gateway.title_of(message) end, person.account_id,
        is_new, plan);
    return gateway.begun_answer(
        begun, plan, person, conversation, persona, gateway.rate_of(counter, (tier ->> 'requests_per_minute')::integer),
        case when answers_again then message end,
        gateway.past_messages(uid, conversation, begun.conversation_id, begun.seq, tier -> 'history'), danger, pinned,
        case when earlier.risk_is_decided and earlier.risk_tier > 0 then begun.risk end);
end $$;
