-- Beginning a turn: the first of its two round trips.

-- The result of begin_turn for a turn that began. SQL, which the planner inlines; not jsonb, because the history can be long and is not read here.
create function gateway.begun_answer(
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
        'summary', conversation.summary,
        'unsummarised', begun.seq - 1 - conversation.summarised_through,
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

-- Begins a turn for the user of `request.jwt.claims`, or returns the reason why not. One call, one transaction.
--
-- Three requests begin a turn: a new message; the same request again (idempotency_key) when its turn failed, which is the turn's next attempt; and
-- `retry_of`, which is a new turn on the message of an ended one and supersedes its answer. Only the latest turn of the latest message can be
-- retried, because later messages depend on it: any other is `not_found`. A running turn whose owner crashed blocks its conversation until
-- recovery finalizes it, about a second after the owner has expired.
--
-- request: {
--   message, conversation_id?, persona_id?, persona_slug?, share_token?, domain?, idempotency_key?, locale?, country?,
--   source?: of a new conversation; with `preview` the persona's draft answers its creator,
--   supplied?,                                                the messages that the client sends beside the message: part of what a repeated
--                                                             request must have in common
--   earlier_concern?: true,                                   one of those messages shows danger: the stored level is at least 1
--   retry_of?,                                                a turn; then nothing of the lines above but a key, and no risk
--   risk: {tier, categories, subject, patterns},              assessment of the message
--   limits: {tiers: [{name, requests_per_minute, messages_per_day, concurrent_turns, domains: [those allowed],
--                     budgets: {tokens_per_day, tokens_per_month, nanodollars_per_day, nanodollars_per_month},
--                     history: {tokens, messages}}],              from the lowest; the first needs no entitlement
--            paid: {<entitlement>: position in tiers}, trials: {the same, of trials},    "*": those not named
--            grace_seconds,                                       added to the end of an entitlement
--            crisis: {model_calls_per_day, concurrent_turns}},    allowance of a user in danger beyond the others
--   reserve_nanodollars?, reserve_tokens?, owner: {instance, epoch},
--   consents?: {<kind>: true},                                without which no model is called; `memory` is not among them
--   requires_memory_consent?: true,
--   exhausted?: [shared budgets with nothing left: installation, tier/<name>, persona/<id>] }
--   An absent limit does not limit.
-- result: {outcome: begun,   rate, turn: {turn_id, conversation_id, user_message_id, message_id, attempt}, day, tier, profile, summary,
--                            unsummarised: earlier messages that the summary does not cover; NULL: no summary is made,
--                            calls_model: false when the allowance is spent, too: then the fixed text is the answer,
--                            seq: of the message in its conversation, is_minor, disclosure: the notice of talking to a machine that is due,
--                            history: [{role, content}], persona, safety_level, conversation_domain, pinned_domain, country,
--                            locale, message: the user's, for `retry_of`, earlier_risk: of a message in danger, as an ended attempt has
--                            decided it before the message itself raised safety_level}
--       | {outcome: known,   rate, known: <load_turn>}
--       | {outcome: refused, rate, reason, retry_after, limit, reset_at, tier, domain, shared_budget, consents, safety_level, country, locale}
--                            domain: that the tier does not have; shared_budget: installation, persona or tier, for an exhausted one;
--                            consents: those missing; the region is the profile's
-- A rejection writes only the user's row and counter. `lock_not_available` and `serialization_failure` mean: repeat the call.
create function gateway.begin_turn(uid uuid, request jsonb) returns json
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
        plan.disclosure := gateway.due_disclosure(uid, counter.disclosed_at, person.is_minor, plan.moment);
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

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.begun_answer(
        gateway.begun_turn, gateway.turn_plan, gateway.turn_user, gateway.turn_conversation, public.persona_versions, jsonb, text, json, integer,
        public.coaching_domain, jsonb),
    gateway.begin_turn(uuid, jsonb)
    to coach_gateway;
