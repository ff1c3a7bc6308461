-- Beginning a turn: the first of its two round trips.

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
        having count(l.finalized_by) > 0);
end $$;

-- The current state of a turn, for subscribers and replays; NULL when it does not exist, belongs to another user, or its conversation is deleted.
-- Decisions about a running turn are those of its first checkpoint; before that the risk is the message's.
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
            'started_at', floor(extract(epoch from t.started_at))::bigint,
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
            'locale', coalesce(r.facts ->> 'locale', t.locale),
            'disclosure', t.disclosure)
        from public.turns t
        join public.conversations c on c.user_id = t.user_id and c.id = t.conversation_id and c.deleted_at is null
        left join public.messages m on m.user_id = t.user_id and m.id = t.message_id
        left join gateway.running_turns r
            on r.user_id = t.user_id and r.conversation_id = t.conversation_id and r.turn_id = t.id and r.attempt = t.attempt
        where t.user_id = gateway.user_id() and t.id = $2 and t.deleted_at is null);
end $$;

-- Supersedes the answers to a user's message because the turn begins again: they are kept, but not sent to the model.
create function gateway.supersede_answers(uid uuid, conversation_id uuid, seq integer, change bigint) returns void
    language plpgsql as $$
begin
    update public.messages m set status = 'superseded', updated_at = clock_timestamp(), change = $4
    where m.user_id = uid and m.conversation_id = $2 and m.seq = $3 + 1 and m.role = 'assistant' and m.status <> 'superseded';
end $$;

-- The messages before a place in a conversation, as a JSON array: the newest that fit into so many tokens, oldest first. Without messages that have
-- no answer, and superseded answers.
create function gateway.history(uid uuid, conversation_id uuid, before_seq integer, tokens integer, messages integer) returns json
    language plpgsql stable as $$
begin
    return (
        select coalesce(json_agg(message), '[]')
        -- Rows in their order, which cost less than objects that the aggregate has to sort.
        from (
            select recent.role::text, recent.content
            from (
                select m.seq, m.role, m.content,
                    sum(m.token_count + gateway.tokens_per_message()) over (order by m.seq desc rows unbounded preceding) as tokens_so_far
                from public.messages m
                where m.user_id = gateway.user_id() and m.conversation_id = $2 and m.seq < $3
                    and m.status in ('complete', 'stopped', 'interrupted') and m.content <> ''
                order by m.seq desc
                limit $5
            ) recent
            where recent.tokens_so_far <= $4
            order by recent.seq
        ) message);
end $$;

create function gateway.rejection(reason text, retry_after integer, hit_limit integer, safety_level integer) returns jsonb
    language sql stable
    return jsonb_build_object(
        'outcome', 'refused', 'reason', reason, 'retry_after', retry_after, 'limit', hit_limit, 'safety_level', safety_level);

-- Values that the writing functions share.
create type gateway.turn_plan as (
    moment timestamptz,
    -- The user's change number of this transaction.
    change bigint,
    -- UTC; of budget and ledger alike, however long the transaction takes.
    day date,
    tier text,
    -- In budgets, for this attempt: dollars, and tokens.
    reserve numeric,
    reserve_tokens bigint,
    -- False: the turn is answered by the fixed text, and no model is called.
    calls_model boolean,
    conversation_id uuid,
    -- Of a conversation that begins with this turn.
    source public.conversation_source,
    -- The user's message in its conversation.
    seq integer,
    persona_id uuid,
    persona_version integer,
    country text,
    locale text,
    owner_instance uuid,
    owner_epoch bigint,
    purpose public.usage_purpose,
    -- The notice that is due; NULL: none.
    disclosure public.disclosure_kind
);
-- The attempt that began.
create type gateway.begun_turn as (
    id uuid, conversation_id uuid, user_message_id uuid, message_id uuid, seq integer, attempt integer, persona_id uuid,
    -- {tier, categories, subject, patterns}
    risk jsonb, country text, locale text
);
-- retry_after in seconds; resets_at: NULL when the limit does not reset at a known time.
create type gateway.limit_hit as (reason text, retry_after integer, hit_limit integer, resets_at timestamptz);

-- A limit that resets at a known time.
create function gateway.limit_until(reason text, hit_limit integer, resets_at timestamptz, moment timestamptz) returns gateway.limit_hit
    language sql immutable
    return (reason, greatest(1, ceil(extract(epoch from resets_at - moment)))::integer, hit_limit, resets_at)::gateway.limit_hit;

-- The budget of tokens or money that is used up; NULL when none. `budgets`: of the tier. Reserves of running turns count as spent. Notes the largest
-- share that is used, from half on and in steps of a twentieth, so that most turns write nothing.
create function gateway.budget_limit(
    uid uuid, budgets jsonb, reserve numeric, reserve_tokens bigint, day date, moment timestamptz) returns gateway.limit_hit
    language plpgsql as $$
declare
    month constant date := date_trunc('month', day::timestamp);
    tomorrow constant timestamptz := (day + 1)::timestamp at time zone 'UTC';
    next_month constant timestamptz := (month::timestamp + interval '1 month') at time zone 'UTC';
    used record;
    share double precision;
begin
    select coalesce(sum(b.tokens + b.reserved_tokens) filter (where b.day = $5), 0) as tokens_today,
        coalesce(sum(b.tokens + b.reserved_tokens), 0) as tokens,
        coalesce(sum(b.spent_usd + b.reserved_usd) filter (where b.day = $5), 0) as cost_today,
        coalesce(sum(b.spent_usd + b.reserved_usd), 0) as cost
    into used
    from public.budgets b where b.user_id = uid and b.day between month and $5;
    share := greatest(
        (used.tokens + reserve_tokens)::double precision / nullif((budgets ->> 'tokens_per_month')::integer, 0),
        (used.tokens_today + reserve_tokens)::double precision / nullif((budgets ->> 'tokens_per_day')::integer, 0),
        ((used.cost + reserve) / nullif(gateway.to_usd((budgets ->> 'nanodollars_per_month')::bigint), 0))::double precision,
        ((used.cost_today + reserve) / nullif(gateway.to_usd((budgets ->> 'nanodollars_per_day')::bigint), 0))::double precision);
    if share >= 0.5 then
        insert into public.budgets as b (user_id, day, limit_share) values (uid, $5, least(share, 1000000))
        on conflict on constraint budgets_pkey do update set limit_share = excluded.limit_share
            where coalesce(b.limit_share, 0) < excluded.limit_share - 0.05;
    end if;
    return case
        when used.tokens + greatest(reserve_tokens, 1) > (budgets ->> 'tokens_per_month')::integer
            then gateway.limit_until('budget_exhausted', (budgets ->> 'tokens_per_month')::integer, next_month, moment)
        when used.cost + reserve > gateway.to_usd((budgets ->> 'nanodollars_per_month')::bigint)
            then gateway.limit_until('budget_exhausted', null, next_month, moment)
        when used.tokens_today + greatest(reserve_tokens, 1) > (budgets ->> 'tokens_per_day')::integer
            then gateway.limit_until('budget_exhausted', (budgets ->> 'tokens_per_day')::integer, tomorrow, moment)
        when used.cost_today + reserve > gateway.to_usd((budgets ->> 'nanodollars_per_day')::bigint)
            then gateway.limit_until('budget_exhausted', null, tomorrow, moment)
    end;
end $$;

-- The ordinary limit that a turn would exceed; NULL when none. `running`: number of the user's running turns. An absent limit does not limit.
create function gateway.ordinary_limit(
    uid uuid, counter public.rate_limits, tier jsonb, running integer, is_counted boolean, plan gateway.turn_plan)
    returns gateway.limit_hit
    language plpgsql as $$
begin
    if counter.requests > (tier ->> 'requests_per_minute')::integer then
        return gateway.limit_until(
            'rate_limited', (tier ->> 'requests_per_minute')::integer, counter.window_started_at + interval '1 minute',
            plan.moment);
    elsif is_counted and counter.messages > (tier ->> 'messages_per_day')::integer then
        return gateway.limit_until(
            'quota_exhausted', (tier ->> 'messages_per_day')::integer, (plan.day + 1)::timestamp at time zone 'UTC', plan.moment);
    elsif (tier ->> 'concurrent_turns')::integer <= running then
        return ('too_many_turns', 2, tier ->> 'concurrent_turns', null)::gateway.limit_hit;
    elsif tier -> 'budgets' is not null then
        return gateway.budget_limit(uid, tier -> 'budgets', plan.reserve, plan.reserve_tokens, plan.day, plan.moment);
    end if;
    return null;
end $$;

-- Takes one model call from the allowance of a user in danger beyond the ordinary limits (CONTRACT §4); false when it is spent.
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

-- The version of a persona that answers: the published one when it is open to the user, or `kept_version` of a conversation, also after the persona
-- was unpublished. NULL when there is none.
create function gateway.find_persona(uid uuid, persona_id uuid, kept_version integer) returns public.persona_versions
    language plpgsql stable as $$
declare
    persona public.persona_versions;
begin
    select v.* into persona from public.coaching_personas p
    join public.persona_versions v on v.persona_id = p.id and v.version = coalesce($3, p.published_version)
    where p.id = $2 and p.deleted_at is null and (
        p.status in ('published', 'unpublished') and $3 is not null
        or p.status = 'published' and (
            p.visibility = 'listed' or p.user_id = uid
            or exists (
                select from public.persona_redemptions r where r.user_id = uid and r.persona_id = p.id)));
    return persona;
end $$;

-- The draft of a creator's own persona, as a version without a number; NULL when there is none, or an operator has withdrawn it.
create function gateway.draft_persona(uid uuid, persona_id uuid) returns public.persona_versions
    language plpgsql stable as $$
declare
    draft public.persona_versions;
begin
    select p.id, null, p.name, p.description, p.domain, p.tone, p.methodology, p.personality, p.starters, p.languages, p.updated_at
    into draft from public.coaching_personas p
    where p.id = $2 and p.user_id = uid and p.deleted_at is null and p.status <> 'withdrawn';
    return draft;
end $$;

-- The persona that a request names, by id, by its slug, or by a share link, which it redeems; in a preview the creator's draft. NULL when it is
-- not open to the user.
create function gateway.requested_persona(uid uuid, request jsonb) returns public.persona_versions
    language plpgsql as $$
declare
    requested uuid := (request ->> 'persona_id')::uuid;
    shared uuid;
begin
    if request ->> 'source' = 'preview' then
        return gateway.draft_persona(uid, requested);
    elsif request ->> 'share_token' is not null then
        shared := gateway.redeem_share_link(uid, request ->> 'share_token');
        if shared is null or shared <> requested then
            return null;
        end if;
        requested := shared;
    elsif request ->> 'persona_slug' is not null then
        select p.id into requested from public.coaching_personas p where p.slug = request ->> 'persona_slug';
    end if;
    return gateway.find_persona(uid, requested, null);
end $$;

-- Begins the next attempt of a failed turn. An owner's late receipt may have changed the turn since it was read: then the caller must repeat the
-- transaction.
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
        raise exception 'the turn was changed meanwhile' using errcode = 'serialization_failure';
    end if;
    if turn.retry_of is not null then
        perform gateway.supersede_answers(uid, turn.conversation_id, turn.seq, plan.change);
    end if;
    update public.messages m set status = 'complete', updated_at = plan.moment, change = plan.change
    where m.user_id = uid and m.id = turn.user_message_id;
    return begun;
end $$;

-- Begins a new turn on the message of an ended one, and supersedes its answer. The idempotency key moves to the new turn.
create function gateway.replace_turn(uid uuid, former public.turns, plan gateway.turn_plan) returns gateway.begun_turn
    language plpgsql as $$
declare
    begun gateway.begun_turn;
begin
    perform gateway.supersede_answers(uid, former.conversation_id, former.seq, plan.change);
    -- The key is unique, so it is removed from the former turn first.
    update public.turns t set idempotency_key = null, updated_at = plan.moment
    where t.user_id = uid and t.id = former.id and t.status = former.status and t.attempt = former.attempt;
    if not found then
        raise exception 'the turn was changed meanwhile' using errcode = 'serialization_failure';
    end if;
    insert into public.turns as t (
        user_id, conversation_id, user_message_id, seq, retry_of, idempotency_key, request_hash, conversation_named, persona_id,
        pinned_domain, tier, locale, country, risk_tier, risk_categories, risk_subject, risk_patterns, day, created_at, started_at,
        updated_at, disclosure)
    values (
        uid, former.conversation_id, former.user_message_id, former.seq,
        -- The turn whose answer is restored when this one fails.
        case when former.status = 'failed' then coalesce(former.retry_of, former.id) else former.id end,
        former.idempotency_key, former.request_hash, former.conversation_named, plan.persona_id, former.pinned_domain, plan.tier,
        plan.locale, plan.country, former.risk_tier, former.risk_categories, former.risk_subject, former.risk_patterns, plan.day,
        plan.moment, plan.moment, plan.moment, plan.disclosure)
    returning t.id, t.conversation_id, t.user_message_id, t.message_id, t.seq, t.attempt, t.persona_id,
        jsonb_build_object('tier', t.risk_tier, 'categories', t.risk_categories, 'subject', t.risk_subject, 'patterns', t.risk_patterns),
        t.country, t.locale into begun;
    update public.messages m set status = 'complete', turn_id = begun.id, updated_at = plan.moment, change = plan.change
    where m.user_id = uid and m.id = begun.user_message_id;
    return begun;
end $$;

-- Begins the turn of a new message, and saves the message.
create function gateway.insert_turn(uid uuid, request jsonb, risk gateway.risk, fingerprint bytea, plan gateway.turn_plan)
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
    with message as (
        insert into public.messages (user_id, id, conversation_id, turn_id, seq, role, content, token_count, created_at, updated_at, change)
        values (
            uid, begun.user_message_id, plan.conversation_id, begun.id, plan.seq, 'user', request ->> 'message',
            gateway.estimate_tokens(request ->> 'message'), plan.moment, plan.moment, plan.change)
    )
    insert into public.turns (
        user_id, id, conversation_id, user_message_id, message_id, seq, idempotency_key, request_hash, conversation_named, persona_id,
        pinned_domain, purpose, tier, locale, country, risk_tier, risk_categories, risk_subject, risk_patterns, day, created_at,
        started_at, updated_at, disclosure)
    values (
        uid, begun.id, plan.conversation_id, begun.user_message_id, begun.message_id, plan.seq, request ->> 'idempotency_key', fingerprint,
        request ->> 'conversation_id' is not null, plan.persona_id, (request ->> 'domain')::public.coaching_domain,
        plan.purpose, plan.tier, begun.locale, begun.country, coalesce(risk.tier, 0), coalesce(risk.categories, '{}'),
        coalesce(risk.subject, 'unclear'), coalesce(risk.patterns, '{}'), plan.day, plan.moment, plan.moment, plan.moment,
        plan.disclosure);
    return begun;
end $$;

-- Records a running attempt, its first model call before it is made (revision 0), and its reserve.
create function gateway.start_attempt(uid uuid, account_id uuid, turn gateway.begun_turn, plan gateway.turn_plan) returns void
    language plpgsql as $$
begin
    with running as (
        insert into gateway.running_turns (
            user_id, conversation_id, turn_id, attempt, user_message_id, message_id, account_id, day, started_at, reserved_usd,
            reserved_tokens, owner_instance, owner_epoch, persona_id, risk, country, locale)
        values (
            uid, turn.conversation_id, turn.id, turn.attempt, turn.user_message_id, turn.message_id, $2, plan.day, plan.moment,
            plan.reserve, plan.reserve_tokens, plan.owner_instance, plan.owner_epoch, turn.persona_id, turn.risk,
            turn.country, turn.locale)
    )
    insert into public.usage_logs (
        account_id, day, turn_id, attempt, call, revision, purpose, conversation_id, message_id, persona_id, tier)
    select $2, plan.day, turn.id, turn.attempt, 1, 0, plan.purpose, turn.conversation_id, turn.message_id, turn.persona_id, plan.tier
    where plan.calls_model;
    if plan.reserve > 0 or plan.reserve_tokens > 0 then
        insert into public.budgets as b (user_id, day, reserved_usd, reserved_tokens) values (uid, plan.day, plan.reserve, plan.reserve_tokens)
        on conflict (user_id, day) do update
            set reserved_usd = b.reserved_usd + plan.reserve, reserved_tokens = b.reserved_tokens + plan.reserve_tokens;
    end if;
end $$;

-- What begin_turn reads about a user.
create type gateway.turn_user as (
    suspended boolean,
    account_id uuid,
    country text,
    locale text,
    -- In the request's `limits.tiers`.
    tier integer,
    -- There are safety states; whether one still applies depends on the time.
    was_in_danger boolean,
    -- Conversations with a running turn.
    running_in uuid[],
    -- The turn of the request's idempotency key.
    known_turn uuid,
    profile jsonb,
    consents jsonb,
    is_minor boolean
);

-- SQL, which the planner inlines. Here and below rows are compared with gateway.user_id() and not with an argument, because the policies do so too:
-- equal conditions are tested once.
create function gateway.turn_user(uid uuid, request jsonb, key text, moment timestamptz) returns setof gateway.turn_user
    language sql stable
begin atomic
    select u.suspended_at is not null, u.account_id, u.country, u.locale,
        (select tier_of from gateway.tier_of(gateway.user_id(), request -> 'limits', $4)),
        exists (select from public.safety_states s where s.user_id = gateway.user_id()),
        array(select r.conversation_id from gateway.running_turns r where r.user_id = gateway.user_id()),
        (select t.id from public.turns t where t.user_id = gateway.user_id() and t.idempotency_key = $3),
        (select jsonb_build_object('values', p."values", 'goals', p.goals, 'situation', p.situation)
            from public.context_profiles p where p.user_id = gateway.user_id()),
        u.consents, u.is_minor
    from public.users u
    where u.id = gateway.user_id();
end;

-- The rejection of a request: reverts what was counted, and adds the rate limit, the tier and the profile's region.
create function gateway.refuse(
    uid uuid, hit gateway.limit_hit, safety_level integer, counted_requests integer, tier jsonb, person gateway.turn_user)
    returns jsonb
    language plpgsql as $$
declare
    counter constant public.rate_limits := gateway.uncount(uid, counted_requests, 1);
begin
    return gateway.rejection(hit.reason, hit.retry_after, hit.hit_limit, safety_level) || jsonb_build_object(
        'rate', gateway.rate_of(counter, (tier ->> 'requests_per_minute')::integer), 'tier', tier ->> 'name',
        'reset_at', ceil(extract(epoch from hit.resets_at))::bigint, 'country', person.country, 'locale', person.locale);
end $$;

-- The result for a request whose turn exists and needs no new attempt: it does not count.
create function gateway.known_answer(uid uuid, turn_id uuid, safety_level integer, tier jsonb) returns jsonb
    language plpgsql as $$
declare
    counter constant public.rate_limits := gateway.uncount(uid, 1, 1);
    known constant jsonb := gateway.load_turn(uid, turn_id);
begin
    return case when known is null then gateway.rejection('not_found', null, null, safety_level)
        else jsonb_build_object('outcome', 'known', 'known', known) end
        || jsonb_build_object('rate', gateway.rate_of(counter, (tier ->> 'requests_per_minute')::integer));
end $$;

-- The answer to a request whose key has a turn; NULL when that turn failed and its next attempt begins.
create function gateway.repeated_answer(
    uid uuid, turn public.turns, fingerprint bytea, conversation_id uuid, safety_level integer, tier jsonb, person gateway.turn_user) returns jsonb
    language plpgsql as $$
begin
    if turn.request_hash <> fingerprint or (turn.conversation_named and turn.conversation_id <> $4) then
        return gateway.refuse(uid, ('idempotency_mismatch', null, null, null), safety_level, 1, tier, person);
    elsif turn.status <> 'failed' then
        return gateway.known_answer(uid, turn.id, safety_level, tier);
    end if;
    return null;
end $$;

-- What begin_turn reads about the conversation.
create type gateway.turn_conversation as (
    id uuid, persona_id uuid, persona_version integer, last_seq integer, domain public.coaching_domain, summary text, title text,
    -- The last message that the summary covers; NULL: the conversation is never summarised.
    summarised_through integer,
    source public.conversation_source);

create function gateway.turn_conversation(uid uuid, conversation_id uuid) returns setof gateway.turn_conversation
    language sql stable
begin atomic
    select c.id, c.persona_id, c.persona_version, c.last_seq, c.domain, c.summary, c.title::text,
        case when not c.ephemeral then c.summarised_through_seq end, c.source
    from public.conversations c
    where c.user_id = gateway.user_id() and c.id = $2 and c.deleted_at is null;
end;

-- Why no turn begins in a conversation that was read so; NULL: one begins. A preview has a conversation of its own, and no turn continues it.
create function gateway.conversation_rejection(conversation gateway.turn_conversation, source public.conversation_source, running_in uuid[])
    returns text
    language sql immutable
    return case
        when conversation.id is null or (conversation.source = 'preview') <> (source = 'preview') then 'not_found'
        when conversation.id = any (running_in) then 'turn_in_progress'
    end;

-- The message of the turn `former` when it is the conversation's latest; NULL when it is not.
create function gateway.retried_message(uid uuid, former public.turns, last_seq integer) returns text
    language plpgsql stable as $$
begin
    return (
        select m.content from public.messages m
        where m.user_id = uid and m.id = former.user_message_id and m.turn_id = former.id and m.seq = $3 - 1);
end $$;

-- Decides a turn that a limit or a missing consent keeps from a model: the rejection, or NULL, and then whether a model is called all the same. The
-- allowance of a user in danger lifts a limit, but no missing consent. When it is spent, only a message of acute danger is answered, by the fixed
-- text.
create function gateway.decide_limited_turn(
    uid uuid, request jsonb, hit gateway.limit_hit, acute boolean, exempt boolean, safety_level integer, tier jsonb, person gateway.turn_user,
    out rejection jsonb, out calls_model boolean)
    language plpgsql as $$
begin
    calls_model := false;
    if not person.consents @> (request -> 'consents') then
        if not acute then
            rejection := gateway.refuse(uid, ('consent_missing', null, null, null), safety_level, 0, tier, person) || jsonb_build_object(
                'consents', array(
                    select k.kind from jsonb_object_keys(request -> 'consents') as k (kind)
                    where not coalesce((person.consents ->> k.kind)::boolean, false) order by k.kind));
        end if;
    elsif not exempt then
        rejection := gateway.refuse(uid, hit, safety_level, 0, tier, person);
    else
        calls_model := gateway.take_crisis_call(uid, request #> '{limits,crisis}', cardinality(person.running_in));
        if not calls_model and not acute then
            rejection := gateway.refuse(uid, hit, safety_level, 0, tier, person);
        end if;
    end if;
end $$;

-- The notice of talking to a machine, which is due now.
create function gateway.disclose(uid uuid, is_minor boolean, moment timestamptz) returns public.disclosure_kind
    language plpgsql as $$
begin
    update public.rate_limits r set disclosed_at = moment where r.user_id = uid;
    return case when is_minor then 'minor' else 'standard' end;
end $$;

-- Makes room for a turn's two messages: in a new conversation (`title` is its title), or in an existing one, unless the turn repeats a message.
-- Returns the seq of the user's message.
create function gateway.extend_conversation(uid uuid, plan gateway.turn_plan, is_new boolean, seqs integer, title text) returns integer
    language plpgsql as $$
declare
    seq integer;
begin
    if is_new then
        insert into public.conversations (
            user_id, id, persona_id, persona_version, source, ephemeral, title, last_seq, last_message_at, change)
        values (
            uid, plan.conversation_id, plan.persona_id, plan.persona_version, plan.source, plan.source = 'preview', $5, 2, plan.moment,
            plan.change);
        return 1;
    end if;
    update public.conversations c
    set last_seq = c.last_seq + seqs,
        last_message_at = plan.moment,
        updated_at = plan.moment,
        change = plan.change,
        persona_id = coalesce(c.persona_id, plan.persona_id),
        persona_version = coalesce(c.persona_version, plan.persona_version)
    where c.user_id = gateway.user_id() and c.id = plan.conversation_id and c.deleted_at is null
    returning c.last_seq - 1 into seq;
    if not found then
        raise exception 'the conversation was deleted meanwhile' using errcode = 'serialization_failure';
    end if;
    -- A separate statement, because triggers fire for this column.
    if $5 is not null then
        update public.conversations c set title = $5 where c.user_id = uid and c.id = plan.conversation_id and c.title is null;
    end if;
    return seq;
end $$;

-- The highest level of danger stored for a user: with the persona, or with any when it is NULL.
create function gateway.stored_level(uid uuid, persona_id uuid, moment timestamptz) returns integer
    language plpgsql stable as $$
begin
    return (
        select max(gateway.level_at(s.level, s.raised_at, moment)) from public.safety_states s
        where s.user_id = uid and s.persona_id = coalesce($2, s.persona_id));
end $$;

-- Writes a turn: room in its conversation, message and turn, the running attempt with its first call, and the state of danger. `earlier`: the turn
-- that is retried or has its next attempt, else NULL; `title`: of a conversation without one.
create function gateway.write_turn(
    uid uuid, request jsonb, risk gateway.risk, fingerprint bytea, earlier public.turns, title text, account_id uuid, is_new boolean,
    plan gateway.turn_plan) returns gateway.begun_turn
    language plpgsql as $$
declare
    is_retry constant boolean := request ->> 'retry_of' is not null;
    begun gateway.begun_turn;
begin
    plan.owner_instance := request #>> '{owner,instance}';
    plan.owner_epoch := request #>> '{owner,epoch}';
    plan.change := gateway.next_change(uid);
    plan.seq := gateway.extend_conversation(uid, plan, is_new, case when earlier.id is null then 2 else 0 end, title);
    if is_retry then
        begun := gateway.replace_turn(uid, earlier, plan);
    elsif earlier.id is not null then
        begun := gateway.restart_turn(uid, earlier, plan);
    else
        begun := gateway.insert_turn(uid, request, risk, fingerprint, plan);
    end if;
    perform gateway.start_attempt(uid, $7, begun, plan);
    -- The state is raised here already, in case the caller dies; once for each message.
    if risk.tier > 0 and not is_retry then
        perform gateway.raise_safety(uid, plan.persona_id, risk.tier, true, plan.moment);
    elsif request ? 'earlier_concern' then
        perform gateway.raise_safety(uid, plan.persona_id, 1, false, plan.moment);
    end if;
    return begun;
end $$;

-- The result of begin_turn for a turn that began. SQL, which the planner inlines; not jsonb, because the history can be long and is not read here.
create function gateway.begun_answer(
    begun gateway.begun_turn, plan gateway.turn_plan, person gateway.turn_user, conversation gateway.turn_conversation,
    persona public.persona_versions, rate jsonb, message text, history json, safety_level integer, pinned public.coaching_domain) returns json
    language sql stable
    return json_build_object(
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
        'conversation_domain', conversation.domain,
        'pinned_domain', pinned,
        'country', person.country,
        'locale', person.locale);

-- Begins a turn for the user of `request.jwt.claims`, or returns the reason why not. One call, one transaction.
--
-- Three requests begin a turn: a new message; the same message again (idempotency_key) when its turn failed, which is the turn's next attempt; and
-- `retry_of`, which is a new turn on the message of an ended one and supersedes its answer. Only the latest turn of the latest message can be
-- retried, because later messages depend on it: any other is `not_found`. A running turn of a dead owner blocks its conversation until recovery
-- finalizes it, within about a second of noticing the death.
--
-- request: {
--   message, conversation_id?, persona_id?, persona_slug?, share_token?, domain?, idempotency_key?, locale?, country?,
--   source?: of a new conversation; with `preview` the persona's draft answers its creator,
--   supplied?,                                                the messages that the client sends beside the message: part of what a repeated
--                                                             request must have in common
--   earlier_concern?: true,                                   one of those messages shows danger: the stored level is at least 1
--   retry_of?,                                                a turn; then none of the lines above, and no risk
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
--                            locale, message: the user's, for `retry_of`}
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
    is_retry constant boolean := request ->> 'retry_of' is not null;
    is_new boolean;
    message text := request ->> 'message';
    risk gateway.risk := jsonb_populate_record(null::gateway.risk, request -> 'risk');
    pinned public.coaching_domain := request ->> 'domain';
    conversation_id uuid := request ->> 'conversation_id';

    counter public.rate_limits;
    person gateway.turn_user;
    tier jsonb;
    -- Highest stored level over all personas.
    danger integer := 0;
    -- The turn that `retry_of` names, or the failed one of the key, whose next attempt this is. Read only then: even a row of NULLs costs.
    earlier public.turns;
    is_next_attempt boolean := false;
    exempt boolean;
    hit gateway.limit_hit;
    reason text;
    -- The exhausted budget that users share, if that is the limit.
    shared_budget text;
    answer jsonb;
    conversation gateway.turn_conversation;
    persona public.persona_versions;
    plan gateway.turn_plan;
    begun gateway.begun_turn;
    safety_level integer := 0;
    past json;
begin
    -- The user. Counting locks their row, so their other turns wait for this transaction, and what is read now includes what those wrote.
    counter := gateway.count_request(uid, 1);
    plan.moment := clock_timestamp();
    plan.day := plan.moment at time zone 'UTC';
    select * into strict person from gateway.turn_user(uid, request, key, plan.moment);
    tier := request #> array['limits', 'tiers', person.tier::text];
    if person.was_in_danger then
        danger := gateway.stored_level(uid, null, plan.moment);
    end if;
    if request ? 'earlier_concern' then
        danger := greatest(danger, 1);
    end if;

    -- What the request repeats: another turn's message, or, by its key, itself.
    if is_retry then
        select * into earlier from public.turns t
        where t.user_id = uid and t.id = (request ->> 'retry_of')::uuid and t.deleted_at is null;
        risk := (earlier.risk_tier, earlier.risk_categories, earlier.risk_subject, earlier.risk_patterns);
        person.country := coalesce(earlier.country, person.country);
        person.locale := coalesce(earlier.locale, person.locale);
    end if;
    if person.suspended then
        return gateway.refuse(uid, ('suspended', null, null, null), danger, 1, tier, person);
    elsif person.known_turn is not null then
        select * into strict earlier from public.turns t where t.user_id = uid and t.id = person.known_turn;
        answer := gateway.repeated_answer(uid, earlier, fingerprint, conversation_id, danger, tier, person);
        if answer is not null then
            return answer;
        end if;
        is_next_attempt := true;
    end if;
    if is_retry or is_next_attempt then
        pinned := earlier.pinned_domain;
        conversation_id := earlier.conversation_id;
    end if;

    -- The limits. Those but the rate refuse only a turn that nothing else refuses; none refuses a user in danger (CONTRACT §4).
    exempt := coalesce(risk.tier >= 2, false) or danger >= 1;
    plan.reserve := coalesce(gateway.to_usd((request ->> 'reserve_nanodollars')::bigint), 0);
    plan.reserve_tokens := coalesce((request ->> 'reserve_tokens')::bigint, 0);
    hit := gateway.ordinary_limit(uid, counter, tier, cardinality(person.running_in), not is_next_attempt, plan);
    if hit.reason = 'rate_limited' and not exempt then
        return gateway.refuse(uid, hit, danger, 1, tier, person);
    end if;

    -- The conversation, then the persona, then the domain: the first that is missing or not allowed rejects the turn.
    plan.source := coalesce(request ->> 'source', 'app');
    plan.purpose := case plan.source when 'preview' then 'preview' else 'chat' end;
    is_new := conversation_id is null and not is_retry;
    if not is_new then
        select * into conversation from gateway.turn_conversation(uid, conversation_id);
        reason := gateway.conversation_rejection(conversation, plan.source, person.running_in);
        if is_retry and reason is null then
            message := gateway.retried_message(uid, earlier, conversation.last_seq);
            reason := case when message is null then 'not_found' end;
        end if;
    end if;
    if reason is null and (
        plan.source = 'preview' or coalesce(request ->> 'persona_id', request ->> 'persona_slug', request ->> 'share_token') is not null)
    then
        persona := gateway.requested_persona(uid, request);
        reason := case when persona.persona_id is null and not exempt
            then case plan.source when 'preview' then 'not_found' else 'unknown_persona' end end;
    end if;
    -- The conversation keeps the persona of its first turn, in the version of then.
    if conversation.persona_id is not null and plan.source <> 'preview' then
        persona := gateway.find_persona(uid, conversation.persona_id, conversation.persona_version);
    end if;
    -- For a user in danger the prompt is the generic one.
    if reason is null and pinned is not null and not exempt and not (tier -> 'domains') ? pinned::text then
        reason := 'subscription_required';
    end if;
    if reason is not null then
        return gateway.refuse(uid, (reason, case reason when 'turn_in_progress' then 1 end, null, null), danger, 0, tier, person)
            || case reason when 'subscription_required' then jsonb_build_object('domain', pinned) else '{}' end;
    end if;

    -- Whether a model is called. Budgets that users share are limits, too.
    if hit.reason is null and request ? 'exhausted' then
        -- That of the tier last: another tier lifts it alone.
        shared_budget := case
            when request -> 'exhausted' ? 'installation' then 'installation'
            when request -> 'exhausted' ? ('persona/' || persona.persona_id) then 'persona'
            when request -> 'exhausted' ? ('tier/' || (tier ->> 'name')) then 'tier'
        end;
    end if;
    if shared_budget is not null then
        hit := gateway.limit_until('budget_exhausted', null, (plan.day + 1)::timestamp at time zone 'UTC', plan.moment);
    end if;
    plan.calls_model := hit.reason is null and (person.consents @> (request -> 'consents')) is not false;
    if not plan.calls_model then
        select d.rejection, d.calls_model into answer, plan.calls_model
        from gateway.decide_limited_turn(uid, request, hit, coalesce(risk.tier >= 2, false), exempt, danger, tier, person) d;
        if answer is not null then
            return answer || case answer ->> 'reason' when 'budget_exhausted' then jsonb_build_object('shared_budget', shared_budget) else '{}' end;
        elsif not plan.calls_model then
            plan.reserve := 0;
            plan.reserve_tokens := 0;
        end if;
    end if;
    if is_next_attempt then
        counter := gateway.uncount(uid, 0, 1);
    end if;
    -- Refused, or required and not given: then nothing from the user's profile or earlier conversations enters the prompt (CONTRACT §5).
    if not coalesce((person.consents ->> 'memory')::boolean, not request ? 'requires_memory_consent') then
        person.profile := null;
        conversation.summary := null;
        conversation.summarised_through := null;
    end if;
    -- The notice is due at the first turn and after every three hours; an attempt keeps that of its turn. A time in the future counts as long ago.
    if is_next_attempt then
        plan.disclosure := earlier.disclosure;
    elsif (counter.disclosed_at between plan.moment - interval '3 hours' and plan.moment) is not true then
        plan.disclosure := gateway.disclose(uid, person.is_minor, plan.moment);
    end if;

    -- The stored state is that before this message, whose own tier the caller fuses.
    if danger > 0 then
        safety_level := coalesce(gateway.stored_level(uid, coalesce(persona.persona_id, gateway.no_persona()), plan.moment), 0);
    end if;
    if request ? 'earlier_concern' then
        safety_level := greatest(safety_level, 1);
    end if;
    plan.tier := coalesce(tier ->> 'name', '');
    plan.country := person.country;
    plan.locale := person.locale;
    plan.persona_id := persona.persona_id;
    plan.persona_version := persona.version;
    plan.conversation_id := coalesce(conversation.id, gen_random_uuid());
    begun := gateway.write_turn(
        uid, request, risk, fingerprint, earlier, case when conversation.title is null then gateway.title_of(message) end, person.account_id,
        is_new, plan);

    if begun.seq > 1 then
        past := gateway.history(
            uid, begun.conversation_id, begun.seq, coalesce((tier #>> '{history,tokens}')::integer, 0),
            -- Without those that the summary stands for: so its beginning stays the same, and in providers' caches, until the next summary.
            least(
                coalesce((tier #>> '{history,messages}')::integer, 0),
                case when conversation.summary is not null then begun.seq - 1 - conversation.summarised_through end));
    end if;
    return gateway.begun_answer(
        begun, plan, person, conversation, persona, gateway.rate_of(counter, (tier ->> 'requests_per_minute')::integer),
        case when is_retry then message end, past, safety_level, pinned);
end $$;

-- The result of begin_turn for a repeated request that needs no new attempt; NULL when it needs one. Writes nothing: for an instance that cannot
-- begin turns. request: as there.
create function gateway.repeated_turn(uid uuid, request jsonb) returns jsonb
    language plpgsql stable set search_path = '' as $$
declare
    turn public.turns;
    counter public.rate_limits;
    tier integer;
begin
    perform gateway.check_caller(uid);
    select t.* into turn from public.turns t join public.users u on u.id = t.user_id
    where t.user_id = uid and t.idempotency_key = request ->> 'idempotency_key' and t.status <> 'failed' and u.suspended_at is null;
    if not found then
        return null;
    end if;
    select * into strict counter from public.rate_limits r where r.user_id = uid;
    select tier_of into tier from gateway.tier_of(uid, request -> 'limits', clock_timestamp());
    return case
        when turn.request_hash <> gateway.request_hash(request)
            or (turn.conversation_named and turn.conversation_id <> (request ->> 'conversation_id')::uuid)
        then gateway.rejection('idempotency_mismatch', null, null, 0)
        else coalesce(
            (select jsonb_build_object('outcome', 'known', 'known', loaded.known)
                from (select gateway.load_turn(uid, turn.id)) as loaded (known) where loaded.known is not null),
            gateway.rejection('not_found', null, null, 0))
        end || jsonb_build_object('rate', gateway.rate_of(
            counter, (request #>> array['limits', 'tiers', tier::text, 'requests_per_minute'])::integer));
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.bill_of(uuid, uuid, integer, date), gateway.load_turn(uuid, uuid), gateway.supersede_answers(uuid, uuid, integer, bigint),
    gateway.history(uuid, uuid, integer, integer, integer),
    gateway.limit_until(text, integer, timestamptz, timestamptz), gateway.budget_limit(uuid, jsonb, numeric, bigint, date, timestamptz),
    gateway.ordinary_limit(uuid, public.rate_limits, jsonb, integer, boolean, gateway.turn_plan),
    gateway.take_crisis_call(uuid, jsonb, integer), gateway.find_persona(uuid, uuid, integer), gateway.requested_persona(uuid, jsonb),
    gateway.draft_persona(uuid, uuid),
    gateway.restart_turn(uuid, public.turns, gateway.turn_plan), gateway.replace_turn(uuid, public.turns, gateway.turn_plan),
    gateway.insert_turn(uuid, jsonb, gateway.risk, bytea, gateway.turn_plan),
    gateway.start_attempt(uuid, uuid, gateway.begun_turn, gateway.turn_plan), gateway.turn_user(uuid, jsonb, text, timestamptz),
    gateway.refuse(uuid, gateway.limit_hit, integer, integer, jsonb, gateway.turn_user), gateway.known_answer(uuid, uuid, integer, jsonb),
    gateway.turn_conversation(uuid, uuid), gateway.extend_conversation(uuid, gateway.turn_plan, boolean, integer, text),
    gateway.repeated_answer(uuid, public.turns, bytea, uuid, integer, jsonb, gateway.turn_user),
    gateway.conversation_rejection(gateway.turn_conversation, public.conversation_source, uuid[]),
    gateway.retried_message(uuid, public.turns, integer),
    gateway.decide_limited_turn(uuid, jsonb, gateway.limit_hit, boolean, boolean, integer, jsonb, gateway.turn_user),
    gateway.write_turn(
        uuid, jsonb, gateway.risk, bytea, public.turns, text, uuid, boolean, gateway.turn_plan),
    gateway.disclose(uuid, boolean, timestamptz), gateway.stored_level(uuid, uuid, timestamptz),
    gateway.begun_answer(
        gateway.begun_turn, gateway.turn_plan, gateway.turn_user, gateway.turn_conversation, public.persona_versions, jsonb, text, json, integer,
        public.coaching_domain),
    gateway.begin_turn(uuid, jsonb), gateway.repeated_turn(uuid, jsonb), gateway.rejection(text, integer, integer, integer)
    to coach_gateway;
