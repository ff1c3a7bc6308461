-- Rolling summaries: when a conversation no longer fits into a prompt, a model summarises its older messages, after the turn and by a job. The messages
-- stay. The job's calls are in the ledger under the turn that caused it, with purpose `summary`.

-- Enqueues the summary of a conversation. The key allows one job until the summary has moved, and another one ten turns later, in case the job is dead.
create function gateway.request_summary(uid uuid, conversation_id uuid, turn_id uuid, attempt integer, tokens integer) returns void
    language plpgsql set search_path = '' as $$
declare
    progress record;
begin
    select c.summarised_through_seq as through, c.last_seq into progress from public.conversations c
    where c.user_id = gateway.user_id() and c.id = $2 and c.deleted_at is null and not c.ephemeral;
    if found then
        perform gateway.enqueue_job(
            uid, 'summarise_conversation',
            jsonb_build_object('conversation_id', $2, 'turn_id', $3, 'attempt', $4, 'tokens', $5),
            concat_ws(' ', $2, progress.through, progress.last_seq / 20), clock_timestamp(), 5);
    end if;
end $$;

-- Whether summaries may be made of the user's messages: not once `memory` is refused, or required and not given (CONTRACT §5).
create function gateway.allows_summaries(uid uuid, requires_consent boolean) returns boolean
    language sql stable set search_path = ''
begin atomic
    select coalesce((u.consents ->> 'memory')::boolean, not $2) from public.users u where u.id = gateway.user_id();
end;

-- Summaries of which a model call is due or runs: what is reserved for it in the user's budgets, and what is billed when its process crashes.
create table gateway.running_summaries (
    user_id uuid not null references public.users (id) on delete cascade,
    -- Of the call in the ledger.
    day date not null,
    turn_id uuid not null,
    attempt integer not null,
    call integer not null,
    reserved_usd numeric(20, 9) not null,
    reserved_tokens bigint not null,
    -- A bill as of gateway.finish_turn, of the prompt alone; NULL: no request has left.
    estimate jsonb,
    primary key (user_id, day, turn_id, attempt, call)
);

revoke all on gateway.running_summaries from anon, authenticated, coach_gateway;
alter table gateway.running_summaries enable row level security;
grant select, insert, update, delete on gateway.running_summaries to coach_gateway;
create policy running_summaries_gateway on gateway.running_summaries to coach_gateway
    using (user_id = gateway.user_id()) with check (user_id = gateway.user_id());

-- What is to be summarised now, the record of the call in the ledger and its reserve in the user's budgets, before it is made; NULL when there is
-- nothing, or a budget of the user is used up: a later turn asks again. All but the newest messages with half of so many tokens, so that the next summary is due many turns later; at most so many tokens at once. The cut is before a user's message.
-- result: {day, call, from, through, summary: the one so far, messages: [{role, content}]}, of the messages after `from` up to `through`, and
-- the turn's {tier, domain?, persona_id?}, which name the route
-- limits: {reserve_nanodollars?, reserve_tokens?, budgets: {<tier>: as in gateway.begin_turn}}
create function gateway.begin_summary(
    uid uuid, conversation_id uuid, turn_id uuid, attempt integer, tokens integer, requires_consent boolean, limits jsonb) returns jsonb
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
declare
    conversation public.conversations;
    kept_from integer;
    through integer;
    past jsonb;
    moment constant timestamptz := clock_timestamp();
    today constant date := moment at time zone 'UTC';
    reserve constant numeric := coalesce(gateway.to_usd((limits ->> 'reserve_nanodollars')::bigint), 0);
    reserve_tokens constant bigint := coalesce((limits ->> 'reserve_tokens')::bigint, 0);
    budgets jsonb;
    nth integer;
    route jsonb;
begin
    perform gateway.check_caller(uid);
    select c.* into conversation from public.conversations c
    where c.user_id = gateway.user_id() and c.id = $2 and c.deleted_at is null and not c.ephemeral;
    if not found or not gateway.allows_summaries(uid, requires_consent) then
        return null;
    end if;

    -- The newest turn is always kept.
    select coalesce(min(recent.seq), max(recent.newest)) into kept_from
    from (
        select m.seq, m.role, max(m.seq) filter (where m.role = 'user') over () as newest,
            sum(m.token_count + gateway.tokens_per_message()) over (order by m.seq desc rows unbounded preceding) as tokens_so_far
        from public.messages m
        where m.user_id = gateway.user_id() and m.conversation_id = $2 and m.seq > conversation.summarised_through_seq
            and m.status in ('complete', 'stopped', 'interrupted') and m.content <> ''
    ) recent
    where (recent.role = 'user' and recent.tokens_so_far <= tokens / 2) or recent.seq = recent.newest;
    if kept_from is null or kept_from - 1 <= conversation.summarised_through_seq then
        return null;
    end if;
    select coalesce(min(older.seq) filter (where older.tokens_before > tokens and older.role = 'user'), kept_from) - 1 into through
    from (
        select m.seq, m.role,
            sum(m.token_count + gateway.tokens_per_message()) over (order by m.seq rows between unbounded preceding and 1 preceding) as tokens_before
        from public.messages m
        where m.user_id = gateway.user_id() and m.conversation_id = $2
            and m.seq > conversation.summarised_through_seq and m.seq < kept_from
            and m.status in ('complete', 'stopped', 'interrupted') and m.content <> ''
    ) older;
    select jsonb_agg(jsonb_build_object('role', m.role, 'content', m.content) order by m.seq) into past
    from public.messages m
    where m.user_id = gateway.user_id() and m.conversation_id = $2
        and m.seq > conversation.summarised_through_seq and m.seq <= through
        and m.status in ('complete', 'stopped', 'interrupted') and m.content <> '';
    if past is null then
        update public.conversations c set summarised_through_seq = through
        where c.user_id = gateway.user_id() and c.id = $2 and c.summarised_through_seq = conversation.summarised_through_seq;
        return null;
    end if;

    select jsonb_build_object('tier', t.tier, 'domain', t.domain, 'persona_id', t.persona_id) into strict route
    from public.turns t where t.user_id = gateway.user_id() and t.id = $3;
    budgets := limits #> array['budgets', route ->> 'tier'];
    -- The user's turns and other summaries that begin at the same time see the reserve.
    perform from public.rate_limits r where r.user_id = gateway.user_id() for update;
    if (gateway.budget_limit(uid, budgets, reserve, reserve_tokens, today, moment)).reason is not null then
        return null;
    end if;
    nth := gateway.record_call(uid, $3, $4, null, 'summary', today);
    insert into gateway.running_summaries (user_id, day, turn_id, attempt, call, reserved_usd, reserved_tokens)
    values (uid, today, $3, $4, nth, reserve, reserve_tokens);
    insert into public.budgets as b (user_id, day, reserved_usd, reserved_tokens) values (uid, today, reserve, reserve_tokens)
    on conflict on constraint budgets_pkey do update
        set reserved_usd = b.reserved_usd + excluded.reserved_usd, reserved_tokens = b.reserved_tokens + excluded.reserved_tokens;
    return route || jsonb_build_object(
        'day', today, 'call', nth, 'from', conversation.summarised_through_seq, 'through', through,
        'summary', conversation.summary, 'messages', past);
end $$;

-- Saves what a summary that has begun is billed when its process crashes. False: it has ended meanwhile, and its request must not leave.
create function gateway.estimate_summary(uid uuid, turn_id uuid, attempt integer, day date, call integer, bill jsonb) returns boolean
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
begin
    perform gateway.check_caller(uid);
    update gateway.running_summaries s set estimate = bill
    where s.user_id = gateway.user_id() and s.day = $4 and s.turn_id = $2 and s.attempt = $3 and s.call = $5;
    return found;
end $$;

-- Gives back the reserve, books the calls and replaces the summary, unless another one was made since, the text is empty, or the consent was withdrawn. Idempotent. Returns
-- whether the summary was replaced.
-- receipt: {conversation_id, turn_id, attempt, day, call, from, through, summary, calls: of gateway.book_calls}
create function gateway.finish_summary(uid uuid, receipt jsonb, requires_consent boolean) returns boolean
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
declare
    ended gateway.running_summaries;
begin
    perform gateway.check_caller(uid);
    -- Before budgets and the conversation, as finish_turn does.
    perform from public.change_counters c where c.user_id = gateway.user_id() for update;
    -- There is none when the receipt is delivered again, or gateway.end_lost_summaries has ended the call.
    delete from gateway.running_summaries s
    where s.user_id = gateway.user_id() and s.day = (receipt ->> 'day')::date and s.turn_id = (receipt ->> 'turn_id')::uuid
        and s.attempt = (receipt ->> 'attempt')::integer and s.call = (receipt ->> 'call')::integer
    returning s.* into ended;
    if found then
        update public.budgets b
        set reserved_usd = b.reserved_usd - ended.reserved_usd, reserved_tokens = b.reserved_tokens - ended.reserved_tokens
        where b.user_id = gateway.user_id() and b.day = ended.day;
    end if;
    perform gateway.book_calls(
        uid, (receipt ->> 'turn_id')::uuid, (receipt ->> 'attempt')::integer, (receipt ->> 'day')::date, receipt -> 'calls', 'owner');
    update public.conversations c
    set summary = receipt ->> 'summary', summarised_through_seq = (receipt ->> 'through')::integer
    where c.user_id = gateway.user_id() and c.id = (receipt ->> 'conversation_id')::uuid and c.deleted_at is null
        and c.summarised_through_seq = (receipt ->> 'from')::integer and receipt ->> 'summary' ~ '\S'
        and gateway.allows_summaries(uid, requires_consent);
    return found;
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.request_summary(uuid, uuid, uuid, integer, integer), gateway.allows_summaries(uuid, boolean),
    gateway.begin_summary(uuid, uuid, uuid, integer, integer, boolean, jsonb),
    gateway.estimate_summary(uuid, uuid, integer, date, integer, jsonb), gateway.finish_summary(uuid, jsonb, boolean)
    to coach_gateway;
