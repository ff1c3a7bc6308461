-- The first of a turn's two round trips.

-- The bill of an attempt: the sums of its ledger rows; NULL when it has no receipt. Planned at each call, for then only one day is looked at.
create function gateway.bill_of(uid uuid, turn_id uuid, attempt integer, day date) returns jsonb
    language plpgsql stable set search_path = '' set plan_cache_mode = force_custom_plan as $$
begin
    return (
        select jsonb_build_object(
            'provider', (array_agg(l.provider order by l.revision desc) filter (where l.provider is not null))[1],
            'model', (array_agg(l.model order by l.revision desc) filter (where l.model is not null))[1],
            'input', sum(l.input_tokens), 'cached_input', sum(l.cached_input_tokens), 'cache_write', sum(l.cache_write_tokens),
            'output', sum(l.output_tokens), 'reasoning', sum(l.reasoning_tokens),
            'cost_nanodollars', case when sum(l.unpriced) = 0 then gateway.to_nanodollars(sum(l.cost_usd)) end,
            'estimated', (array_agg(l.estimated order by l.revision desc))[1])
        from public.usage_logs l
        where l.account_id = (select u.account_id from public.users u where u.id = gateway.user_id())
            and l.day = $4 and l.turn_id = $2 and l.attempt = $3 and l.call = 1
        having max(l.revision) > 0);
end $$;

-- A turn as it stands, for attaching to it or telling it again; NULL when there is none, it is another user's or its conversation is deleted.
-- While it runs, what was decided about it is known from its first checkpoint on; before, the risk is what the message itself said.
create function gateway.load_turn(uid uuid, turn_id uuid) returns jsonb
    language plpgsql stable set search_path = '' as $$
begin
    perform gateway.check_caller(uid);
    return (
        select jsonb_build_object(
            'user_id', t.user_id,
            'turn', jsonb_build_object(
                'turn_id', t.id, 'conversation_id', t.conversation_id, 'user_message_id', t.user_message_id,
                'message_id', t.message_id, 'attempt', t.attempt),
            'day', t.day,
            'status', t.status,
            'finish_reason', t.finish_reason,
            'error_code', t.error_code,
            'content', coalesce(m.content, ''),
            'bill', case when t.status <> 'running' then gateway.bill_of(uid, t.id, t.attempt, t.day) end,
            'domain', coalesce(r.facts -> 'domain', jsonb_build_object(
                'domain', t.domain, 'confidence', coalesce(t.domain_confidence, 0), 'source', coalesce(t.domain_source, 'abstained'))),
            'persona_id', t.persona_id,
            'risk', coalesce(r.facts -> 'risk', jsonb_build_object(
                'tier', t.risk_tier, 'categories', t.risk_categories, 'subject', t.risk_subject, 'patterns', t.risk_patterns)),
            'country', coalesce(r.facts ->> 'country', t.country),
            'locale', coalesce(r.facts ->> 'locale', t.locale))
        from public.turns t
        join public.conversations c on c.user_id = t.user_id and c.id = t.conversation_id and c.deleted_at is null
        left join public.messages m on m.user_id = t.user_id and m.id = t.message_id
        left join gateway.running_turns r
            on r.user_id = t.user_id and r.conversation_id = t.conversation_id and r.turn_id = t.id and r.attempt = t.attempt
        where t.user_id = gateway.user_id() and t.id = $2);
end $$;

-- Puts away the answers to a user's message because the turn begins anew: kept, but not sent to the model any more.
create function gateway.supersede_answers(uid uuid, conversation_id uuid, seq integer) returns void
    language plpgsql as $$
begin
    update public.messages m set status = 'superseded', updated_at = clock_timestamp()
    where m.user_id = uid and m.conversation_id = $2 and m.seq = $3 + 1 and m.role = 'assistant' and m.status <> 'superseded';
end $$;

-- What was said before a place in a conversation: the newest messages that fit into so many tokens, oldest first. Messages without an
-- answer and answers that were superseded are left out. Four tokens a message for its role and delimiters.
create function gateway.history(uid uuid, conversation_id uuid, before_seq integer, tokens integer, messages integer) returns json
    language plpgsql stable as $$
begin
    return (
        select coalesce(json_agg(said), '[]')
        -- Rows in their order, which cost less than objects that the aggregate has to sort.
        from (
            select recent.role::text, recent.content
            from (
                select m.seq, m.role, m.content,
                    sum(m.token_count + 4) over (order by m.seq desc rows unbounded preceding) as tokens_so_far
                from public.messages m
                where m.user_id = gateway.user_id() and m.conversation_id = $2 and m.seq < $3
                    and m.status in ('complete', 'stopped', 'interrupted') and m.content <> ''
                order by m.seq desc
                limit $5
            ) recent
            where recent.tokens_so_far <= $4
            order by recent.seq
        ) said);
end $$;

create function gateway.rejection(reason text, retry_after integer, hit_limit integer, safety_level integer) returns jsonb
    language sql stable
    return jsonb_build_object(
        'outcome', 'refused', 'reason', reason, 'retry_after', retry_after, 'limit', hit_limit, 'safety_level', safety_level);

-- What a message is begun with, for the functions that write it.
create type gateway.turn_plan as (
    moment timestamptz,
    -- UTC; of budget and ledger alike, however long the transaction takes.
    day date,
    tier text,
    -- In budgets, for this attempt.
    reserve numeric,
    -- False: the turn is answered by the fixed text, and no model is called.
    calls_model boolean,
    conversation_id uuid,
    -- The user's message in its conversation.
    seq integer,
    persona_id uuid,
    persona_version integer,
    country text,
    locale text,
    owner_instance uuid,
    owner_epoch bigint
);
-- What was begun.
create type gateway.begun_turn as (
    id uuid, conversation_id uuid, user_message_id uuid, message_id uuid, seq integer, attempt integer, persona_id uuid,
    -- {tier, categories, subject, patterns}
    risk jsonb, country text, locale text
);
create type gateway.limit_hit as (reason text, retry_after integer, hit_limit integer);

-- Which of the ordinary limits a turn would pass; NULL when none. `running`: turns of the user that run. An absent limit does not limit.
create function gateway.ordinary_limit(
    uid uuid, counter public.rate_limits, limits jsonb, tier_limits jsonb, running integer, is_counted boolean, reserve numeric,
    day date, moment timestamptz)
    returns gateway.limit_hit
    language plpgsql as $$
declare
    until_tomorrow constant integer := ceil(extract(epoch from ((day + 1)::timestamp at time zone 'UTC') - moment));
begin
    if counter.requests > (limits ->> 'requests_per_minute')::integer then
        return (
            'rate_limited', greatest(1, ceil(extract(epoch from counter.window_started_at + interval '1 minute' - moment))),
            limits ->> 'requests_per_minute')::gateway.limit_hit;
    elsif is_counted and counter.messages > (tier_limits ->> 'messages_per_day')::integer then
        return ('quota_exhausted', until_tomorrow, tier_limits ->> 'messages_per_day')::gateway.limit_hit;
    elsif (tier_limits ->> 'concurrent_turns')::integer <= running then
        return ('too_many_turns', 2, tier_limits ->> 'concurrent_turns')::gateway.limit_hit;
    elsif tier_limits ->> 'nanodollars_per_day' is not null then
        if gateway.to_usd((tier_limits ->> 'nanodollars_per_day')::bigint) < coalesce(reserve, 0)
            + coalesce((select b.spent_usd + b.reserved_usd from public.budgets b where b.user_id = uid and b.day = ordinary_limit.day), 0)
        then
            return ('budget_exhausted', until_tomorrow, null)::gateway.limit_hit;
        end if;
    end if;
    return null;
end $$;

-- Takes one model call from what somebody in danger has past the ordinary limits (CONTRACT §4); false when it is spent.
create function gateway.take_crisis_call(uid uuid, allowance jsonb, running integer) returns boolean
    language plpgsql as $$
begin
    if running >= (allowance ->> 'concurrent_turns')::integer then
        return false;
    end if;
    update public.rate_limits r set crisis_calls = r.crisis_calls + 1
    where r.user_id = uid and (allowance ->> 'model_calls_per_day' is null or r.crisis_calls < (allowance ->> 'model_calls_per_day')::integer);
    return found;
end $$;

-- The version of a persona that answers: the published one, or the one that a conversation keeps when its persona is published no more. NULL when
-- there is none.
create function gateway.find_persona(persona_id uuid, kept_version integer) returns public.persona_versions
    language plpgsql stable as $$
declare
    persona public.persona_versions;
begin
    select v.* into persona from public.coaching_personas p
    join public.persona_versions v on v.persona_id = p.id and v.version = coalesce($2, p.published_version)
    where p.id = $1 and p.deleted_at is null and (p.status = 'published' or p.status = 'unpublished' and $2 is not null);
    return persona;
end $$;

-- Begins the next attempt of a turn that failed. Another transaction may have ended it otherwise since it was read: an owner's late receipt.
-- Then this one begins anew.
create function gateway.restart_turn(uid uuid, turn public.turns, plan gateway.turn_plan) returns gateway.begun_turn
    language plpgsql as $$
declare
    begun gateway.begun_turn;
begin
    update public.turns t
    set status = 'running', attempt = t.attempt + 1, error_code = null, finalized_by = null, persona_id = plan.persona_id, tier = plan.tier,
        time_to_first_token_ms = null, duration_ms = null, day = plan.day, started_at = plan.moment, finished_at = null,
        updated_at = plan.moment
    where t.user_id = uid and t.id = turn.id and t.status = 'failed' and t.attempt = turn.attempt
    returning t.id, t.conversation_id, t.user_message_id, t.message_id, t.seq, t.attempt, t.persona_id,
        jsonb_build_object('tier', t.risk_tier, 'categories', t.risk_categories, 'subject', t.risk_subject, 'patterns', t.risk_patterns),
        t.country, t.locale into begun;
    if not found then
        raise exception 'the turn has ended otherwise meanwhile' using errcode = 'serialization_failure';
    end if;
    if turn.retry_of is not null then
        perform gateway.supersede_answers(uid, turn.conversation_id, turn.seq);
    end if;
    update public.messages m set status = 'complete', updated_at = plan.moment where m.user_id = uid and m.id = turn.user_message_id;
    return begun;
end $$;

-- Begins a new turn on the message of one that has ended, whose answer it supersedes. The key goes over to it.
create function gateway.replace_turn(uid uuid, former public.turns, plan gateway.turn_plan) returns gateway.begun_turn
    language plpgsql as $$
declare
    begun gateway.begun_turn;
begin
    perform gateway.supersede_answers(uid, former.conversation_id, former.seq);
    -- The key is unique, so the former turn gives it away first.
    update public.turns t set idempotency_key = null, updated_at = plan.moment
    where t.user_id = uid and t.id = former.id and t.status = former.status and t.attempt = former.attempt;
    if not found then
        raise exception 'the turn has ended otherwise meanwhile' using errcode = 'serialization_failure';
    end if;
    insert into public.turns as t (
        user_id, conversation_id, user_message_id, seq, retry_of, idempotency_key, request_hash, conversation_named, persona_id,
        pinned_domain, tier, locale, country, risk_tier, risk_categories, risk_subject, risk_patterns, day, created_at, started_at,
        updated_at)
    values (
        uid, former.conversation_id, former.user_message_id, former.seq,
        -- The one whose answer may have to come back.
        case when former.status = 'failed' then coalesce(former.retry_of, former.id) else former.id end,
        former.idempotency_key, former.request_hash, former.conversation_named, plan.persona_id, former.pinned_domain, plan.tier,
        plan.locale, plan.country, former.risk_tier, former.risk_categories, former.risk_subject, former.risk_patterns, plan.day,
        plan.moment, plan.moment, plan.moment)
    returning t.id, t.conversation_id, t.user_message_id, t.message_id, t.seq, t.attempt, t.persona_id,
        jsonb_build_object('tier', t.risk_tier, 'categories', t.risk_categories, 'subject', t.risk_subject, 'patterns', t.risk_patterns),
        t.country, t.locale into begun;
    update public.messages m set status = 'complete', turn_id = begun.id, updated_at = plan.moment
    where m.user_id = uid and m.id = begun.user_message_id;
    return begun;
end $$;

-- Begins the turn of a new message, and saves the message.
create function gateway.insert_turn(uid uuid, request jsonb, heard gateway.risk, fingerprint bytea, plan gateway.turn_plan)
    returns gateway.begun_turn
    language plpgsql as $$
declare
    begun gateway.begun_turn;
begin
    begun.id := gen_random_uuid();
    begun.conversation_id := plan.conversation_id;
    begun.user_message_id := gen_random_uuid();
    begun.message_id := gen_random_uuid();
    begun.seq := plan.seq;
    begun.attempt := 1;
    begun.persona_id := plan.persona_id;
    begun.risk := coalesce(request -> 'risk', '{"tier": 0, "categories": [], "subject": "unclear", "patterns": []}');
    begun.country := coalesce(request ->> 'country', plan.country);
    begun.locale := coalesce(request ->> 'locale', plan.locale);
    with said as (
        insert into public.messages (user_id, id, conversation_id, turn_id, seq, role, content, token_count, created_at, updated_at)
        values (
            uid, begun.user_message_id, plan.conversation_id, begun.id, plan.seq, 'user', request ->> 'message',
            gateway.estimate_tokens(request ->> 'message'), plan.moment, plan.moment)
    )
    insert into public.turns (
        user_id, id, conversation_id, user_message_id, message_id, seq, idempotency_key, request_hash, conversation_named, persona_id,
        pinned_domain, tier, locale, country, risk_tier, risk_categories, risk_subject, risk_patterns, day, created_at, started_at,
        updated_at)
    values (
        uid, begun.id, plan.conversation_id, begun.user_message_id, begun.message_id, plan.seq, request ->> 'idempotency_key', fingerprint,
        request ->> 'conversation_id' is not null, plan.persona_id, (request ->> 'domain')::public.coaching_domain, plan.tier,
        begun.locale, begun.country, coalesce(heard.tier, 0), coalesce(heard.categories, '{}'), coalesce(heard.subject, 'unclear'),
        coalesce(heard.patterns, '{}'), plan.day, plan.moment, plan.moment, plan.moment);
    return begun;
end $$;

-- Notes that an attempt runs, records its first call before it is made, and sets the reserve aside.
create function gateway.start_attempt(uid uuid, account_id uuid, turn gateway.begun_turn, plan gateway.turn_plan) returns void
    language plpgsql as $$
begin
    with running as (
        insert into gateway.running_turns (
            user_id, conversation_id, turn_id, attempt, user_message_id, message_id, account_id, day, started_at, reserved_usd,
            owner_instance, owner_epoch, persona_id, risk, country, locale)
        values (
            uid, turn.conversation_id, turn.id, turn.attempt, turn.user_message_id, turn.message_id, $2, plan.day, plan.moment,
            plan.reserve, plan.owner_instance, plan.owner_epoch, turn.persona_id, turn.risk,
            turn.country, turn.locale)
    )
    insert into public.usage_logs (
        account_id, day, turn_id, attempt, call, revision, purpose, conversation_id, message_id, persona_id, tier)
    select $2, plan.day, turn.id, turn.attempt, 1, 0, 'chat', turn.conversation_id, turn.message_id, turn.persona_id, plan.tier
    where plan.calls_model;
    if plan.reserve > 0 then
        insert into public.budgets as b (user_id, day, reserved_usd) values (uid, plan.day, plan.reserve)
        on conflict (user_id, day) do update set reserved_usd = b.reserved_usd + plan.reserve;
    end if;
end $$;

-- Begins a turn for the user of `request.jwt.claims`, or says why not. One call, one transaction.
--
-- Three things begin a turn: a new message; the same message again (idempotency_key) when its turn failed, which is the next attempt of that
-- turn; and `retry_of`, which is a new turn on the message of an ended one, whose answer it supersedes. Only the latest turn of the latest
-- message can be tried again, because what was said later builds on it: any other is `not_found`. The idempotency key goes over to the new
-- turn, for it names the message. A turn that runs is in the way until it is finalized, also when its owner is dead: that takes recovery a
-- second, keeps what it said, and bills it.
--
-- request: {
--   message, conversation_id?, persona_id?, share_token?, domain?, idempotency_key?, locale?, country?,
--   retry_of?,                                                a turn; then none of the line above, and no risk
--   risk: {tier, categories, subject, patterns},              what the message itself says
--   history: {tokens, messages},                              how much of the past to bring back
--   limits: {requests_per_minute, default_tier, tiers: {<tier>: {messages_per_day, concurrent_turns, nanodollars_per_day}},
--            crisis: {model_calls_per_day, concurrent_turns}},    what somebody in danger has past the others
--   reserve_nanodollars?, owner: {instance, epoch} }
--   An absent limit does not limit.
-- answer: {outcome: begun,   rate, turn: {turn_id, conversation_id, user_message_id, message_id, attempt}, day, tier, profile, summary,
--                            calls_model: false when somebody in acute danger has spent that as well: then the fixed text is the answer,
--                            history: [{role, content}], persona, safety_level, conversation_domain, pinned_domain, country,
--                            locale, message: the user's, when it was `retry_of`}
--       | {outcome: known,   rate, known: <load_turn>}
--       | {outcome: refused, rate, reason, retry_after, limit, safety_level, country, locale}    the profile's place
-- A refusal writes nothing but the user's row and his counter. `lock_not_available` means: ask again.
create function gateway.begin_turn(uid uuid, request jsonb) returns json
    language plpgsql
    set search_path = '' set lock_timeout = '100ms'
    -- Plans are kept, and one made while a table was empty would read it from end to end for ever.
    set enable_seqscan = off
    as $$
declare
    message text := request ->> 'message';
    -- Empty, which no stored key is, instead of NULL: a comparison with that is planned as a scan that never starts, at a sequential one's price.
    key constant text := coalesce(request ->> 'idempotency_key', '');
    fingerprint constant bytea := gateway.request_hash(request);
    heard gateway.risk := jsonb_populate_record(null::gateway.risk, request -> 'risk');
    per_minute constant integer := request #>> '{limits,requests_per_minute}';

    counter public.rate_limits;
    moment timestamptz;
    plan gateway.turn_plan;
    person record;
    allowed jsonb;
    exempt boolean;
    -- The turn of this key, when it is to be tried again, and the one that `retry_of` names. Only then are they looked at: even a row of NULLs
    -- is made at the first look.
    turn public.turns;
    again boolean := false;
    is_retry constant boolean := request ->> 'retry_of' is not null;
    former public.turns;
    -- Where it is said, NULL: in a new conversation; who answers, NULL: the coach without a persona.
    conversation record;
    said_in uuid;
    kept_persona uuid;
    kept_version integer;
    conversation_domain public.coaching_domain;
    summary text;
    persona public.persona_versions;
    speaker_id uuid;
    speaker json;
    safety_level integer;
    -- What a refusal has to take back.
    counted_request boolean := false;
    hit gateway.limit_hit;
    refused text;
    retry_after integer;
    -- What begins.
    begun gateway.begun_turn;
    pinned public.coaching_domain := request ->> 'domain';
    past json;
begin
    -- From here on the user's other turns wait until this one is committed, and what is read is what they left.
    counter := gateway.count_request(uid, 1);
    moment := clock_timestamp();

    -- Here and below rows are compared with gateway.user_id() and not with a variable, because that is what the policies say as well: the same
    -- condition twice is tested once.
    select u.suspended_at is not null as suspended, u.account_id, u.country, u.locale,
        coalesce(
            (select e.tier from public.entitlements e
                where e.user_id = gateway.user_id() and (e.expires_at is null or e.expires_at > moment)),
            request #>> '{limits,default_tier}', 'free') as tier,
        exists (select from public.safety_states s where s.user_id = gateway.user_id()) as was_in_danger,
        0 as safety_level,
        array(select r.conversation_id from gateway.running_turns r where r.user_id = gateway.user_id()) as talking_in,
        (select t.id from public.turns t where t.user_id = gateway.user_id() and t.idempotency_key = key) as known,
        (select jsonb_build_object('values', p."values", 'goals', p.goals, 'situation', p.situation)
            from public.context_profiles p where p.user_id = gateway.user_id()) as profile
    into strict person
    from public.users u
    where u.id = gateway.user_id();
    if person.was_in_danger then
        -- Danger is the person's, whichever persona heard of it.
        select max(gateway.level_at(s.level, s.raised_at, moment)) into person.safety_level
        from public.safety_states s where s.user_id = uid;
    end if;

    allowed := coalesce(
        request #> array['limits', 'tiers', person.tier], request #> array['limits', 'tiers', request #>> '{limits,default_tier}'], '{}');
    if is_retry then
        select * into former from public.turns t where t.user_id = uid and t.id = (request ->> 'retry_of')::uuid;
        heard := (former.risk_tier, former.risk_categories, former.risk_subject, former.risk_patterns);
        pinned := former.pinned_domain;
        person.country := coalesce(former.country, person.country);
        person.locale := coalesce(former.locale, person.locale);
    end if;
    -- Nobody in danger is turned away for want of money, patience or a persona.
    exempt := coalesce(heard.tier >= 2, false) or person.safety_level >= 1;

    <<checks>>
    begin
        if person.suspended then
            refused := 'suspended';
            exit checks;
        end if;

        -- The same request again?
        if person.known is not null then
            select * into strict turn from public.turns t where t.user_id = uid and t.id = person.known;
            if turn.request_hash <> fingerprint
                or (turn.conversation_named and turn.conversation_id <> (request ->> 'conversation_id')::uuid)
            then
                refused := 'idempotency_mismatch';
                exit checks;
            end if;
            again := turn.status = 'failed';
            pinned := turn.pinned_domain;
            if not again then
                counter := gateway.uncount(uid, 1, 1);
                return case when story.known is null
                    then gateway.rejection('not_found', null, null, person.safety_level)
                    else jsonb_build_object('outcome', 'known', 'known', story.known)
                    end || jsonb_build_object('rate', gateway.rate_of(counter, per_minute))
                from (select gateway.load_turn(uid, turn.id)) as story (known);
            end if;
        end if;

        plan.moment := moment;
        plan.day := moment at time zone 'UTC';
        plan.reserve := coalesce(gateway.to_usd((request ->> 'reserve_nanodollars')::bigint), 0);
        hit := gateway.ordinary_limit(
            uid, counter, request -> 'limits', allowed, cardinality(person.talking_in), not again, plan.reserve, plan.day, moment);
        if hit.reason = 'rate_limited' and not exempt then
            refused := hit.reason;
            exit checks;
        end if;
        counted_request := true;

        -- Where it is said.
        if again or is_retry or request ->> 'conversation_id' is not null then
            select c.id, c.persona_id, c.persona_version, c.last_seq, c.domain, c.summary into conversation from public.conversations c
            where c.user_id = gateway.user_id() and c.deleted_at is null
                and c.id = case
                    when again then turn.conversation_id
                    when is_retry then former.conversation_id
                    else (request ->> 'conversation_id')::uuid end;
            if not found then
                refused := 'not_found';
                exit checks;
            end if;
            if conversation.id = any (person.talking_in) then
                refused := 'turn_in_progress';
                retry_after := 1;
                exit checks;
            end if;
            said_in := conversation.id;
            kept_persona := conversation.persona_id;
            kept_version := conversation.persona_version;
            conversation_domain := conversation.domain;
            summary := conversation.summary;
            if is_retry then
                select m.content into message from public.messages m
                where m.user_id = uid and m.id = former.user_message_id and m.turn_id = former.id and m.seq = conversation.last_seq - 1;
                if not found then
                    refused := 'not_found';
                    exit checks;
                end if;
            end if;
        end if;

        -- Who answers.
        if request ->> 'persona_id' is not null or request ->> 'share_token' is not null then
            persona := gateway.find_persona((request ->> 'persona_id')::uuid, null);
            if persona.persona_id is null and not exempt then
                refused := 'unknown_persona';
                exit checks;
            end if;
            speaker_id := persona.persona_id;
        end if;

        -- A conversation keeps the persona that it has, in the version that its first turn met.
        if kept_persona is not null then
            persona := gateway.find_persona(kept_persona, kept_version);
            speaker_id := persona.persona_id;
        end if;

        -- What is allowed past the limits, and what is said when that is spent.
        plan.calls_model := true;
        if hit.reason is not null then
            if not exempt then
                refused := hit.reason;
            elsif not gateway.take_crisis_call(uid, request #> '{limits,crisis}', cardinality(person.talking_in)) then
                plan.calls_model := false;
                plan.reserve := 0;
                if coalesce(heard.tier, 0) < 2 then
                    refused := hit.reason;
                end if;
            end if;
        end if;
    end checks;

    if refused is not null or again then
        counter := gateway.uncount(uid, (refused is not null and not counted_request)::integer, 1);
        if refused is not null then
            if refused is distinct from hit.reason then
                hit := (refused, retry_after, null)::gateway.limit_hit;
            end if;
            return gateway.rejection(refused, hit.retry_after, hit.hit_limit, person.safety_level)
                || jsonb_build_object(
                    'rate', gateway.rate_of(counter, per_minute), 'country', person.country, 'locale', person.locale);
        end if;
    end if;

    -- Nothing stands in the way: write.
    plan.tier := person.tier;
    plan.persona_id := speaker_id;
    plan.persona_version := persona.version;
    plan.country := person.country;
    plan.locale := person.locale;
    plan.owner_instance := request #>> '{owner,instance}';
    plan.owner_epoch := request #>> '{owner,epoch}';
    if said_in is null then
        plan.conversation_id := gen_random_uuid();
        plan.seq := 1;
        insert into public.conversations (user_id, id, persona_id, persona_version, title, last_seq, last_message_at)
        values (uid, plan.conversation_id, plan.persona_id, plan.persona_version, gateway.title_of(message), 2, moment);
    else
        plan.conversation_id := said_in;
        update public.conversations c
        set last_seq = c.last_seq + case when again or is_retry then 0 else 2 end,
            last_message_at = moment,
            updated_at = moment,
            title = coalesce(c.title, gateway.title_of(message)),
            persona_id = coalesce(c.persona_id, plan.persona_id),
            persona_version = coalesce(c.persona_version, plan.persona_version)
        where c.user_id = gateway.user_id() and c.id = said_in and c.deleted_at is null
        returning c.last_seq - 1 into plan.seq;
        if not found then
            raise exception 'the conversation was deleted meanwhile' using errcode = 'serialization_failure';
        end if;
    end if;
    if again then
        begun := gateway.restart_turn(uid, turn, plan);
    elsif is_retry then
        begun := gateway.replace_turn(uid, former, plan);
    else
        begun := gateway.insert_turn(uid, request, heard, fingerprint, plan);
    end if;
    perform gateway.start_attempt(uid, person.account_id, begun, plan);

    -- The state before this message: what it adds is for the caller to fuse. Stored already, in case he does not live to say so.
    if person.safety_level > 0 then
        select max(gateway.level_at(s.level, s.raised_at, moment)) into safety_level
        from public.safety_states s where s.user_id = uid and s.persona_id = coalesce(speaker_id, gateway.no_persona());
    end if;
    -- A message is heard once, however often it is answered.
    if heard.tier > 0 and not is_retry then
        perform gateway.raise_safety(uid, speaker_id, heard.tier, true, moment);
    end if;

    if begun.seq > 1 then
        past := gateway.history(
            uid, begun.conversation_id, begun.seq,
            coalesce((request #>> '{history,tokens}')::integer, 0), coalesce((request #>> '{history,messages}')::integer, 0));
    end if;

    if speaker_id is not null then
        speaker := json_build_object(
            'id', speaker_id, 'name', persona.name, 'domain', gateway.domain_of(persona.domain), 'tone', gateway.prompt_text(persona.tone),
            'methodology', gateway.prompt_text(persona.methodology), 'personality', gateway.prompt_text(persona.personality));
    end if;

    -- Not jsonb: nobody here reads it, and the history can be long.
    return json_build_object(
        'outcome', 'begun',
        'rate', gateway.rate_of(counter, per_minute),
        'turn', json_build_object(
            'turn_id', begun.id, 'conversation_id', begun.conversation_id, 'user_message_id', begun.user_message_id,
            'message_id', begun.message_id, 'attempt', begun.attempt),
        'day', plan.day,
        'calls_model', plan.calls_model,
        'tier', person.tier,
        'message', case when is_retry then message end,
        'profile', person.profile,
        'summary', summary,
        'history', coalesce(past, '[]'),
        'persona', speaker,
        'safety_level', coalesce(safety_level, 0),
        'conversation_domain', conversation_domain,
        'pinned_domain', pinned,
        'country', person.country,
        'locale', person.locale);
end $$;

-- What begin_turn answers to a request that was made before and needs no turn of its own; NULL when it needs one. Writes nothing: for an
-- instance that can begin none. request: as there.
create function gateway.repeated_turn(uid uuid, request jsonb) returns jsonb
    language plpgsql stable set search_path = '' as $$
declare
    turn public.turns;
    counter public.rate_limits;
begin
    perform gateway.check_caller(uid);
    select t.* into turn from public.turns t join public.users u on u.id = t.user_id
    where t.user_id = uid and t.idempotency_key = request ->> 'idempotency_key' and t.status <> 'failed' and u.suspended_at is null;
    if not found then
        return null;
    end if;
    select * into strict counter from public.rate_limits r where r.user_id = uid;
    return case
        when turn.request_hash <> gateway.request_hash(request)
            or (turn.conversation_named and turn.conversation_id <> (request ->> 'conversation_id')::uuid)
        then gateway.rejection('idempotency_mismatch', null, null, 0)
        else coalesce(
            (select jsonb_build_object('outcome', 'known', 'known', story.known)
                from (select gateway.load_turn(uid, turn.id)) as story (known) where story.known is not null),
            gateway.rejection('not_found', null, null, 0))
        end || jsonb_build_object('rate', gateway.rate_of(counter, (request #>> '{limits,requests_per_minute}')::integer));
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.bill_of(uuid, uuid, integer, date), gateway.load_turn(uuid, uuid), gateway.supersede_answers(uuid, uuid, integer),
    gateway.history(uuid, uuid, integer, integer, integer),
    gateway.ordinary_limit(uuid, public.rate_limits, jsonb, jsonb, integer, boolean, numeric, date, timestamptz),
    gateway.take_crisis_call(uuid, jsonb, integer), gateway.find_persona(uuid, integer),
    gateway.restart_turn(uuid, public.turns, gateway.turn_plan), gateway.replace_turn(uuid, public.turns, gateway.turn_plan),
    gateway.insert_turn(uuid, jsonb, gateway.risk, bytea, gateway.turn_plan),
    gateway.start_attempt(uuid, uuid, gateway.begun_turn, gateway.turn_plan),
    gateway.begin_turn(uuid, jsonb), gateway.repeated_turn(uuid, jsonb), gateway.rejection(text, integer, integer, integer)
    to coach_gateway;
