-- Rolling summaries: when a conversation no longer fits into a prompt, a model summarises its older messages, after the turn and by a job. The messages
-- stay. The job's calls are in the ledger under the turn that caused it, with purpose `summary`.

-- Enqueues the summary of a conversation. The key allows one job until the summary has moved, and another one ten turns later, in case the job died.
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

-- What is to be summarised now, and the record of the call in the ledger, before it is made; NULL when there is nothing. All but the newest messages
-- with half of so many tokens, so that the next summary is due many turns later; at most so many tokens at once. The cut is before a user's message.
-- result: {day, call, from, through, summary: the one so far, messages: [{role, content}]}, of the messages after `from` up to `through`, and
-- the turn's {tier, domain?, persona_id?}, which name the route
create function gateway.begin_summary(
    uid uuid, conversation_id uuid, turn_id uuid, attempt integer, tokens integer, requires_consent boolean) returns jsonb
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
declare
    conversation public.conversations;
    kept_from integer;
    through integer;
    past jsonb;
    today constant date := clock_timestamp() at time zone 'UTC';
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

    nth := gateway.record_call(uid, $3, $4, null, 'summary', today);
    select jsonb_build_object('tier', t.tier, 'domain', t.domain, 'persona_id', t.persona_id) into strict route
    from public.turns t where t.user_id = gateway.user_id() and t.id = $3;
    return route || jsonb_build_object(
        'day', today, 'call', nth, 'from', conversation.summarised_through_seq, 'through', through,
        'summary', conversation.summary, 'messages', past);
end $$;

-- Books the calls and replaces the summary, unless another one was made since, the text is empty, or the consent was withdrawn. Idempotent. Returns
-- whether the summary was replaced.
-- receipt: {conversation_id, turn_id, attempt, day, from, through, summary, calls: of gateway.book_calls}
create function gateway.finish_summary(uid uuid, receipt jsonb, requires_consent boolean) returns boolean
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
begin
    perform gateway.check_caller(uid);
    -- Before budgets and the conversation, as finish_turn does.
    perform from public.change_counters c where c.user_id = gateway.user_id() for update;
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
    gateway.begin_summary(uuid, uuid, uuid, integer, integer, boolean), gateway.finish_summary(uuid, jsonb, boolean)
    to coach_gateway;
