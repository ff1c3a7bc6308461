-- The first of a turn's two round trips.

-- A turn as it stands, for attaching to it or telling it again; NULL when it is nobody's, somebody else's or its conversation is deleted.
-- While it runs, what was decided about it is known from its first checkpoint on; before, the risk is what the message itself said.
create function gateway.load_turn(turn_id uuid) returns jsonb
    language plpgsql stable set search_path = '' as $$
begin
    return (
        select jsonb_build_object(
            'user_id', t.user_id,
            'turn', jsonb_build_object(
                'turn_id', t.id, 'conversation_id', t.conversation_id, 'user_message_id', t.user_message_id,
                'message_id', t.message_id, 'attempt', t.attempt),
            'status', t.status,
            'finish_reason', t.finish_reason,
            'error_code', t.error_code,
            'content', coalesce(m.content, ''),
            'bill', case when b.turn_id is not null then jsonb_build_object(
                'provider', b.provider, 'model', b.model,
                'input', b.input_tokens, 'cached_input', b.cached_input_tokens, 'cache_write', b.cache_write_tokens,
                'output', b.output_tokens, 'reasoning', b.reasoning_tokens,
                'cost_nanodollars', gateway.to_nanodollars(b.cost_usd), 'estimated', b.estimated) end,
            'domain', coalesce(p.facts -> 'domain', jsonb_build_object(
                'domain', t.domain, 'confidence', coalesce(t.domain_confidence, 0), 'source', coalesce(t.domain_source, 'abstained'))),
            'persona_id', t.persona_id,
            'risk', coalesce(p.facts -> 'risk', jsonb_build_object(
                'tier', t.risk_tier, 'categories', t.risk_categories, 'subject', t.risk_subject, 'patterns', t.risk_patterns)),
            'country', coalesce(p.facts ->> 'country', t.country),
            'locale', coalesce(p.facts ->> 'locale', t.locale))
        from public.turns t
        join public.conversations c on c.user_id = t.user_id and c.id = t.conversation_id and c.deleted_at is null
        left join public.messages m on m.user_id = t.user_id and m.id = t.message_id
        left join public.usage_logs b on b.user_id = t.user_id and b.turn_id = t.id and b.attempt = t.attempt
        left join gateway.turn_progress p
            on p.user_id = t.user_id and p.turn_id = t.id and p.attempt = t.attempt and t.status = 'running'
        where t.user_id = gateway.user_id() and t.id = $1);
end $$;

-- Puts away the answers to a user's message because the turn begins anew: kept, but not sent to the model any more.
create function gateway.supersede_answers(turn public.turns) returns void
    language plpgsql as $$
begin
    update public.messages m set status = 'superseded', updated_at = clock_timestamp()
    where m.user_id = turn.user_id and m.conversation_id = turn.conversation_id and m.seq = turn.seq + 1 and m.role = 'assistant'
        and m.status <> 'superseded';
end $$;

-- What was said before a place in a conversation: the newest messages that fit into so many tokens, oldest first. Messages without an
-- answer and answers that were superseded are left out. Four tokens a message for its role and delimiters.
create function gateway.history(conversation_id uuid, before_seq integer, tokens integer, messages integer) returns json
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
                where m.user_id = gateway.user_id() and m.conversation_id = $1 and m.seq < $2
                    and m.status in ('complete', 'stopped', 'interrupted') and m.content <> ''
                order by m.seq desc
                limit $4
            ) recent
            where recent.tokens_so_far <= $3
            order by recent.seq
        ) said);
end $$;

create function gateway.refusal(reason text, retry_after integer, hit_limit integer, safety_level integer) returns jsonb
    language sql stable
    return jsonb_build_object(
        'outcome', 'refused', 'reason', reason, 'retry_after', retry_after, 'limit', hit_limit, 'safety_level', safety_level);

-- Begins a turn for the caller in `request.jwt.claims`, or says why not. One call, one transaction.
--
-- Three things begin a turn: a new message; the same message again (idempotency_key) when its turn failed, which is the next attempt of that
-- turn; and `retry_of`, which is a new turn on the message of an ended one, whose answer it supersedes. Only the latest turn of the latest
-- message can be tried again, because what was said later builds on it: any other is `not_found`. The idempotency key goes over to the new
-- turn, for it names the message. A turn that runs is in the way until it is settled, also when its owner is dead: that takes the reaper a
-- second, keeps what it said, and bills it.
--
-- request: {
--   message, conversation_id?, persona_id?, share_token?, domain?, idempotency_key?, locale?, country?,
--   retry_of?,                                                a turn; then none of the line above, and no risk
--   risk: {tier, categories, subject, patterns},              what the message itself says
--   history: {tokens, messages},                              how much of the past to bring back
--   limits: {requests_per_minute, default_tier, tiers: {<tier>: {messages_per_day, concurrent_turns, nanodollars_per_day}}},
--   reserve_nanodollars?, owner: {instance, epoch} }
--   An absent limit does not limit.
-- answer: {outcome: begun,   rate, turn: {turn_id, conversation_id, user_message_id, message_id, attempt}, tier, profile, summary,
--                            history: [{role, content}], persona, safety_level, conversation_domain, pinned_domain, country,
--                            locale, message: the user's, when it was `retry_of`}
--       | {outcome: known,   rate, known: <load_turn>}
--       | {outcome: refused, rate, reason, retry_after, limit, safety_level, country, locale}    the profile's place
-- A refusal writes nothing but the user's row and his counter. `lock_not_available` means: ask again.
create function gateway.begin_turn(request jsonb) returns json
    language plpgsql
    set search_path = '' set lock_timeout = '100ms'
    -- Plans are kept, and one made while a table was empty would read it from end to end for ever.
    set enable_seqscan = off set jit = off
    as $$
declare
    uid constant uuid := gateway.user_id();
    message text := request ->> 'message';
    -- Empty, which no stored key is, instead of NULL: a comparison with that is planned as a scan that never starts, at a sequential one's price.
    key constant text := coalesce(request ->> 'idempotency_key', '');
    fingerprint constant bytea := gateway.request_hash(request);
    heard gateway.risk := jsonb_populate_record(null::gateway.risk, request -> 'risk');
    per_minute constant integer := request #>> '{limits,requests_per_minute}';
    reserve constant numeric := gateway.to_usd((request ->> 'reserve_nanodollars')::bigint);

    counter public.rate_limits;
    moment timestamptz;
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
    conversation_domain public.coaching_domain;
    summary text;
    kept_version integer;
    persona public.persona_versions;
    speaker_id uuid;
    speaker_version integer;
    speaker json;
    safety_level integer;
    -- What a refusal has to take back.
    counted_request boolean := false;
    refused text;
    retry_after integer;
    hit_limit integer;
    -- What begins.
    begun_id uuid;
    said_id uuid;
    answer_id uuid;
    attempt integer := 1;
    place integer;
    pinned public.coaching_domain := request ->> 'domain';
    past json;
begin
    -- From here on the user's other turns wait until this one is committed, and what is read is what they left.
    counter := gateway.count_request(1);
    moment := clock_timestamp();

    -- Here and below rows are compared with gateway.user_id() and not with a variable, because that is what the policies say as well: the same
    -- condition twice is tested once.
    select u.suspended_at is not null as suspended, u.country, u.locale,
        coalesce(
            (select e.tier from public.entitlements e
                where e.user_id = gateway.user_id() and (e.expires_at is null or e.expires_at > moment)),
            request #>> '{limits,default_tier}', 'free') as tier,
        exists (select from public.safety_states s where s.user_id = gateway.user_id()) as was_in_danger,
        0 as safety_level,
        array(select t.conversation_id from public.turns t where t.user_id = gateway.user_id() and t.status = 'running') as talking_in,
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
                    then gateway.refusal('not_found', null, null, person.safety_level)
                    else jsonb_build_object('outcome', 'known', 'known', story.known)
                    end || jsonb_build_object('rate', gateway.rate_of(counter, per_minute))
                from (select gateway.load_turn(turn.id)) as story (known);
            end if;
        end if;

        if counter.requests > per_minute and not exempt then
            refused := 'rate_limited';
            retry_after := greatest(1, ceil(extract(epoch from counter.window_started_at + interval '1 minute' - moment)));
            hit_limit := per_minute;
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
            select v.* into persona from public.coaching_personas p
            join public.persona_versions v on v.persona_id = p.id and v.version = p.published_version
            where p.id = (request ->> 'persona_id')::uuid and p.status = 'published' and p.deleted_at is null;
            if not found and not exempt then
                refused := 'unknown_persona';
                exit checks;
            end if;
            speaker_id := persona.persona_id;
            speaker_version := persona.version;
        end if;

        -- A conversation keeps the persona that it has, in the version that its first turn met.
        if kept_persona is not null then
            select v.* into persona from public.coaching_personas p
            join public.persona_versions v on v.persona_id = p.id and v.version = coalesce(kept_version, p.published_version)
            where p.id = kept_persona and p.deleted_at is null
                and (p.status = 'published' or p.status = 'unpublished' and kept_version is not null);
            speaker_id := persona.persona_id;
            speaker_version := persona.version;
        end if;

        -- What the tier allows.
        if not exempt then
            if not again and counter.messages > (allowed ->> 'messages_per_day')::integer then
                refused := 'quota_exhausted';
                hit_limit := (allowed ->> 'messages_per_day')::integer;
            elsif (allowed ->> 'concurrent_turns')::integer <= cardinality(person.talking_in) then
                refused := 'too_many_turns';
                retry_after := 2;
                hit_limit := (allowed ->> 'concurrent_turns')::integer;
            elsif allowed ->> 'nanodollars_per_day' is not null then
                if gateway.to_usd((allowed ->> 'nanodollars_per_day')::bigint) < coalesce(reserve, 0)
                    + coalesce((select b.spent_usd + b.reserved_usd from public.budgets b where b.user_id = uid and b.day = counter.day), 0)
                then
                    refused := 'budget_exhausted';
                end if;
            end if;
            if refused in ('quota_exhausted', 'budget_exhausted') then
                retry_after := ceil(extract(epoch from ((counter.day + 1)::timestamp at time zone 'UTC') - moment));
            end if;
        end if;
    end checks;

    if refused is not null or again then
        counter := gateway.uncount(uid, (refused is not null and not counted_request)::integer, 1);
        if refused is not null then
            return gateway.refusal(refused, retry_after, hit_limit, person.safety_level)
                || jsonb_build_object(
                    'rate', gateway.rate_of(counter, per_minute), 'country', person.country, 'locale', person.locale);
        end if;
    end if;

    -- Nothing stands in the way: write.
    if said_in is null then
        said_in := gen_random_uuid();
        place := 1;
        insert into public.conversations (user_id, id, persona_id, persona_version, title, last_seq, last_message_at)
        values (uid, said_in, speaker_id, speaker_version, gateway.title_of(message), 2, moment);
    else
        update public.conversations c
        set last_seq = c.last_seq + case when again or is_retry then 0 else 2 end,
            last_message_at = moment,
            updated_at = moment,
            title = coalesce(c.title, gateway.title_of(message)),
            persona_id = coalesce(c.persona_id, speaker_id),
            persona_version = coalesce(c.persona_version, speaker_version)
        where c.user_id = gateway.user_id() and c.id = said_in and c.deleted_at is null
        returning c.last_seq - 1 into place;
        if not found then
            raise exception 'the conversation was deleted meanwhile' using errcode = 'serialization_failure';
        end if;
    end if;

    if again then
        if turn.retry_of is not null then
            perform gateway.supersede_answers(turn);
        end if;
        update public.messages m set status = 'complete', updated_at = moment where m.user_id = uid and m.id = turn.user_message_id;
        update public.turns t
        set status = 'running', attempt = t.attempt + 1, error_code = null, settled_by = null, persona_id = speaker_id,
            tier = person.tier, reserved_usd = coalesce(reserve, 0), owner_instance = (request #>> '{owner,instance}')::uuid,
            owner_epoch = (request #>> '{owner,epoch}')::bigint, stop_requested_at = null,
            time_to_first_token_ms = null, duration_ms = null, started_at = moment, finished_at = null, updated_at = moment
        where t.user_id = uid and t.id = turn.id
        returning t.id, t.user_message_id, t.message_id, t.attempt, t.seq into begun_id, said_id, answer_id, attempt, place;
    elsif is_retry then
        perform gateway.supersede_answers(former);
        -- The key is unique, so the former turn gives it away first.
        update public.turns t set idempotency_key = null, updated_at = moment where t.user_id = uid and t.id = former.id;
        insert into public.turns as t (
            user_id, conversation_id, user_message_id, seq, retry_of, idempotency_key, request_hash, conversation_named, persona_id,
            pinned_domain, tier, locale, country, risk_tier, risk_categories, risk_subject, risk_patterns, reserved_usd,
            owner_instance, owner_epoch, created_at, started_at, updated_at)
        values (
            uid, said_in, former.user_message_id, former.seq,
            -- The one whose answer may have to come back.
            case when former.status = 'failed' then coalesce(former.retry_of, former.id) else former.id end,
            former.idempotency_key, former.request_hash, former.conversation_named, speaker_id, pinned, person.tier, person.locale, person.country,
            former.risk_tier, former.risk_categories, former.risk_subject, former.risk_patterns, coalesce(reserve, 0),
            (request #>> '{owner,instance}')::uuid, (request #>> '{owner,epoch}')::bigint, moment, moment, moment)
        returning t.id, t.user_message_id, t.message_id, t.seq into begun_id, said_id, answer_id, place;
        update public.messages m set status = 'complete', turn_id = begun_id, updated_at = moment
        where m.user_id = uid and m.id = said_id;
    else
        begun_id := gen_random_uuid();
        said_id := gen_random_uuid();
        answer_id := gen_random_uuid();
        with said as (
            insert into public.messages (user_id, id, conversation_id, turn_id, seq, role, content, token_count, created_at, updated_at)
            values (
                uid, said_id, said_in, begun_id, place, 'user', message,
                gateway.estimate_tokens(message), moment, moment)
        )
        insert into public.turns (
            user_id, id, conversation_id, user_message_id, message_id, seq, idempotency_key, request_hash, conversation_named, persona_id,
            pinned_domain, tier, locale, country, risk_tier, risk_categories, risk_subject, risk_patterns, reserved_usd,
            owner_instance, owner_epoch, created_at, started_at, updated_at)
        values (
            uid, begun_id, said_in, said_id, answer_id, place, nullif(key, ''), fingerprint,
            request ->> 'conversation_id' is not null, speaker_id, pinned, person.tier,
            coalesce(request ->> 'locale', person.locale), coalesce(request ->> 'country', person.country),
            coalesce(heard.tier, 0), coalesce(heard.categories, '{}'), coalesce(heard.subject, 'unclear'), coalesce(heard.patterns, '{}'),
            coalesce(reserve, 0),
            (request #>> '{owner,instance}')::uuid, (request #>> '{owner,epoch}')::bigint, moment, moment, moment);
    end if;

    if reserve > 0 then
        -- Of the day on which the attempt begins, where finish_turn gives it back.
        insert into public.budgets as b (user_id, day, reserved_usd) values (uid, (moment at time zone 'UTC')::date, reserve)
        on conflict (user_id, day) do update set reserved_usd = b.reserved_usd + reserve;
    end if;

    -- The state before this message: what it adds is for the caller to fuse. Stored already, in case he does not live to say so.
    if person.safety_level > 0 then
        select max(gateway.level_at(s.level, s.raised_at, moment)) into safety_level
        from public.safety_states s where s.user_id = uid and s.persona_id = coalesce(speaker_id, gateway.no_persona());
    end if;
    -- A message is heard once, however often it is answered.
    if heard.tier > 0 and not is_retry then
        perform gateway.raise_safety(uid, speaker_id, heard.tier, true, moment);
    end if;

    if place > 1 then
        past := gateway.history(
            said_in, place,
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
            'turn_id', begun_id, 'conversation_id', said_in, 'user_message_id', said_id,
            'message_id', answer_id, 'attempt', attempt),
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
create function gateway.repeated_turn(request jsonb) returns jsonb
    language plpgsql stable set search_path = '' as $$
declare
    uid constant uuid := gateway.user_id();
    turn public.turns;
    counter public.rate_limits;
begin
    select t.* into turn from public.turns t join public.users u on u.id = t.user_id
    where t.user_id = uid and t.idempotency_key = request ->> 'idempotency_key' and t.status <> 'failed' and u.suspended_at is null;
    if not found then
        return null;
    end if;
    select * into strict counter from public.rate_limits r where r.user_id = uid;
    return case
        when turn.request_hash <> gateway.request_hash(request)
            or (turn.conversation_named and turn.conversation_id <> (request ->> 'conversation_id')::uuid)
        then gateway.refusal('idempotency_mismatch', null, null, 0)
        else coalesce(
            (select jsonb_build_object('outcome', 'known', 'known', story.known)
                from (select gateway.load_turn(turn.id)) as story (known) where story.known is not null),
            gateway.refusal('not_found', null, null, 0))
        end || jsonb_build_object('rate', gateway.rate_of(counter, (request #>> '{limits,requests_per_minute}')::integer));
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.load_turn(uuid), gateway.supersede_answers(public.turns), gateway.history(uuid, integer, integer, integer),
    gateway.begin_turn(jsonb), gateway.repeated_turn(jsonb), gateway.refusal(text, integer, integer, integer)
    to coach_gateway;
