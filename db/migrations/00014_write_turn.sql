-- Writing a turn that begins: its conversation, message and attempt.

-- The attempt that began.
create type gateway.begun_turn as (
    id uuid, conversation_id uuid, user_message_id uuid, message_id uuid, seq integer, attempt integer, persona_id uuid,
    -- {tier, categories, subject, patterns}
    risk jsonb, country text, locale text
);

-- Supersedes the answers to a user's message because the turn begins again: they are kept, but not sent to the model.
create function gateway.supersede_answers(uid uuid, conversation_id uuid, seq integer, change bigint) returns void
    language plpgsql as $$
begin
    update public.messages m set status = 'superseded', updated_at = clock_timestamp(), change = $4
    where m.user_id = uid and m.conversation_id = $2 and m.seq = $3 + 1 and m.role = 'assistant' and m.status <> 'superseded';
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

-- Whether an ended turn has an answer: not when it failed, or was stopped before its first token.
create function gateway.has_answer(uid uuid, turn public.turns) returns boolean
    language plpgsql stable as $$
begin
    return turn.status <> 'failed' and exists (select from public.messages m where m.user_id = uid and m.id = turn.message_id);
end $$;

-- Begins a new turn on the message of an ended one, and supersedes its answer. A repetition of the request that began the message gets the new turn.
create function gateway.replace_turn(uid uuid, request jsonb, fingerprint bytea, former public.turns, plan gateway.turn_plan)
    returns gateway.begun_turn
    language plpgsql as $$
declare
    begun gateway.begun_turn;
begin
    perform gateway.supersede_answers(uid, former.conversation_id, former.seq, plan.change);
    perform from public.turns t
    where t.user_id = uid and t.id = former.id and t.status = former.status and t.attempt = former.attempt for update;
    if not found then
        raise exception 'the turn was changed meanwhile' using errcode = 'serialization_failure';
    end if;
    insert into public.turns as t (
        user_id, conversation_id, user_message_id, seq, retry_of, idempotency_key, request_hash, conversation_named, persona_id,
        pinned_domain, tier, locale, country, risk_tier, risk_categories, risk_subject, risk_patterns, risk_is_decided, day, created_at,
        started_at, updated_at, disclosure)
    values (
        uid, former.conversation_id, former.user_message_id, former.seq,
        -- The turn whose answer is restored when this one ends without: not one that has none itself.
        case when gateway.has_answer(uid, former) then former.id else coalesce(former.retry_of, former.id) end,
        request ->> 'idempotency_key', fingerprint, false, plan.persona_id, former.pinned_domain, plan.tier,
        plan.locale, plan.country, former.risk_tier, former.risk_categories, former.risk_subject, former.risk_patterns,
        former.risk_is_decided, plan.day, plan.moment, plan.moment, plan.moment, plan.disclosure)
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

-- Writes a turn: room in its conversation, message and turn, the running attempt with its first call, and the state of danger. `earlier`: the turn
-- that is retried or has its next attempt, else NULL; `title`: of a conversation whose first message gives it one.
create function gateway.write_turn(
    uid uuid, request jsonb, risk gateway.risk, fingerprint bytea, earlier public.turns, title text, account_id uuid, is_new boolean,
    plan gateway.turn_plan) returns gateway.begun_turn
    language plpgsql as $$
declare
    -- Not the next attempt of an earlier retry, which has the request's key.
    is_retry constant boolean := request ->> 'retry_of' is not null and (earlier.idempotency_key = request ->> 'idempotency_key') is not true;
    begun gateway.begun_turn;
begin
    if not plan.calls_model then
        plan.reserve := 0;
        plan.reserve_tokens := 0;
    end if;
    plan.change := gateway.next_change(uid);
    plan.seq := gateway.extend_conversation(uid, plan, is_new, case when earlier.id is null then 2 else 0 end, title);
    if is_retry then
        begun := gateway.replace_turn(uid, request, fingerprint, earlier, plan);
    elsif earlier.id is not null then
        begun := gateway.restart_turn(uid, earlier, plan);
    else
        begun := gateway.insert_turn(uid, request, risk, fingerprint, plan);
    end if;
    perform gateway.start_attempt(uid, $7, begun, plan);
    -- The state is raised here already, in case the caller crashes; once for each message.
    if risk.tier > 0 and request ->> 'retry_of' is null then
        perform gateway.raise_safety(uid, plan.persona_id, risk.tier, true, plan.moment);
    elsif request ? 'earlier_concern' then
        perform gateway.raise_safety(uid, plan.persona_id, 1, false, plan.moment);
    end if;
    return begun;
end $$;

-- Replaces the risk of a running attempt's message by a higher one that was found after it began. A retry does not restart the decay of the state,
-- as in write_turn. No effect on an attempt that does not run, or has a risk as high.
create function gateway.raise_risk(uid uuid, conversation_id uuid, turn_id uuid, nth integer, risk jsonb) returns void
    language plpgsql set search_path = '' set lock_timeout = '100ms' set enable_seqscan = off as $$
declare
    persona_id uuid;
    is_first boolean;
    found_risk constant gateway.risk := jsonb_populate_record(null::gateway.risk, risk);
begin
    perform gateway.check_caller(uid);
    update gateway.running_turns r set risk = $5
    where r.user_id = uid and r.conversation_id = $2 and r.turn_id = $3 and r.attempt = nth
        and (r.risk ->> 'tier')::integer < found_risk.tier
    returning r.persona_id into persona_id;
    if not found then
        return;
    end if;
    update public.turns t
    set risk_tier = found_risk.tier, risk_categories = found_risk.categories, risk_subject = found_risk.subject, risk_patterns = found_risk.patterns
    where t.user_id = uid and t.id = $3
    returning t.retry_of is null into is_first;
    perform gateway.raise_safety(uid, persona_id, found_risk.tier, is_first, clock_timestamp());
end $$;

-- The notice of talking to a machine, which is due now.
create function gateway.disclose(uid uuid, is_minor boolean, moment timestamptz) returns public.disclosure_kind
    language plpgsql as $$
begin
    update public.rate_limits r set disclosed_at = moment where r.user_id = uid;
    return case when is_minor then 'minor' else 'standard' end;
end $$;

-- The notice that is due at this turn; NULL: none. It is due at the first turn and after every three hours. A time in the future counts as long ago.
create function gateway.due_disclosure(uid uuid, disclosed_at timestamptz, is_minor boolean, moment timestamptz) returns public.disclosure_kind
    language sql
    return case when (disclosed_at between moment - interval '3 hours' and moment) is not true then gateway.disclose(uid, is_minor, moment) end;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.supersede_answers(uuid, uuid, integer, bigint), gateway.restart_turn(uuid, public.turns, gateway.turn_plan),
    gateway.has_answer(uuid, public.turns), gateway.replace_turn(uuid, jsonb, bytea, public.turns, gateway.turn_plan), gateway.insert_turn(uuid, jsonb, gateway.risk, bytea, gateway.turn_plan),
    gateway.start_attempt(uuid, uuid, gateway.begun_turn, gateway.turn_plan),
    gateway.extend_conversation(uuid, gateway.turn_plan, boolean, integer, text),
    gateway.write_turn(uuid, jsonb, gateway.risk, bytea, public.turns, text, uuid, boolean, gateway.turn_plan),
    gateway.raise_risk(uuid, uuid, uuid, integer, jsonb), gateway.disclose(uuid, boolean, timestamptz), gateway.due_disclosure(uuid, timestamptz, boolean, timestamptz)
    to coach_gateway;
