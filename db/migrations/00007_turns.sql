-- A turn: one message of a user and the answer to it, over all attempts.

create type public.finish_reason as enum ('stop', 'length', 'stopped', 'safety');
-- Notices of talking to a machine.
create type public.disclosure_kind as enum ('standard', 'minor');
create type public.risk_subject as enum ('self', 'other', 'unclear');
create domain public.risk_tier as smallint check (value between 0 and 4);
create domain public.idempotency_key as text check (octet_length(value) between 1 and 128 and value !~ '[^\x20-\x7E]');

create table public.turns (
    user_id uuid not null,
    id uuid not null default gen_random_uuid(),
    conversation_id uuid not null,
    user_message_id uuid not null,
    -- Reserved at the start; the row in messages appears when the turn ends with text.
    message_id uuid not null default gen_random_uuid(),
    -- seq of the user's message; the answer has the next one.
    seq integer not null,
    -- Counts model calls on this message, from 1.
    attempt integer not null default 1,
    status public.turn_status not null default 'running',
    finish_reason public.finish_reason,
    error_code text,

    -- Of the request that began the turn: the same key with the same body is the same turn, and after a retry of it the latest on its message.
    idempotency_key public.idempotency_key,
    request_hash bytea not null,
    -- Whether the first request named a conversation: only then must a repetition name the same one.
    conversation_named boolean not null,

    persona_id uuid,
    tier text not null,
    locale text,
    country text,
    -- The request's pinned domain, for retries.
    pinned_domain public.coaching_domain,
    -- Of its rows in the ledger.
    purpose public.usage_purpose not null default 'chat',
    domain public.coaching_domain,
    domain_confidence real,
    domain_source public.domain_source,
    -- The assessment, never the assessed text.
    risk_tier public.risk_tier not null default 0,
    risk_categories text[] not null default '{}',
    risk_subject public.risk_subject not null default 'unclear',
    risk_patterns text[] not null default '{}',
    -- Whether this is what an attempt decided, with the follow-ups that counted; else it is the message's alone.
    risk_is_decided boolean not null default false,

    -- Which notice the turn's `start` event has; NULL: none.
    disclosure public.disclosure_kind,

    finalized_by public.finalizer,
    -- The turn whose answer this one is to replace. The user's message names the latest of them.
    retry_of uuid,

    time_to_first_token_ms integer,
    duration_ms integer,
    -- UTC day on which the current attempt began: that of its rows in the ledger and in budgets.
    day date not null,
    created_at timestamptz not null default now(),
    -- Start and end of the current attempt.
    started_at timestamptz not null default now(),
    finished_at timestamptz,
    updated_at timestamptz not null default now(),
    -- When its texts were removed: see gateway.delete_response.
    deleted_at timestamptz,
    primary key (user_id, id)
    -- A turn is written when it begins and when it ends; with room on its page the second write touches no index.
) with (fillfactor = 80);

create unique index idx_turns_idempotency_key on public.turns (user_id, idempotency_key) where idempotency_key is not null;

-- Running attempts, with everything that another instance needs to finish one after its owner crashed. A row is added by begin_turn, removed by
-- finish_turn and changed in between without touching an index, so frequent queries read a small table.
create table gateway.running_turns (
    user_id uuid not null,
    -- One running turn a conversation.
    conversation_id uuid not null,
    turn_id uuid not null,
    attempt integer not null,
    user_message_id uuid not null,
    message_id uuid not null,
    account_id uuid not null,
    -- As in public.turns.
    day date not null,
    started_at timestamptz not null,
    -- Reserved in budgets for this attempt.
    reserved_usd numeric(20, 9) not null default 0,
    reserved_tokens bigint not null default 0,
    -- The process that runs it; gateway.instances has its lease.
    owner_instance uuid,
    owner_epoch bigint,
    -- Set through any instance; the owner polls it.
    stop_requested_at timestamptz,
    persona_id uuid,
    -- Assessment of the message: {tier, categories, subject, patterns}.
    risk jsonb not null,
    country text,
    locale text,
    -- From the first checkpoint on: the decisions before the model call, {domain, persona_id, model, risk, country, locale}.
    facts jsonb,
    -- Estimated.
    prompt_tokens bigint,
    -- The model that accepted the call; NULL: none yet, so nothing can have been billed.
    provider text,
    model text,
    -- Calls whose answers are not used, as of the last checkpoint that names the model: [{provider, model, is_accepted, …}].
    calls jsonb,
    saved_at timestamptz,
    primary key (user_id, conversation_id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Read by each owner several times a second; almost always empty.
create index idx_running_turns_stopping on gateway.running_turns (owner_instance) where stop_requested_at is not null;

revoke all on gateway.running_turns from anon, authenticated, coach_gateway;
alter table gateway.running_turns enable row level security;
grant select, insert, update, delete on gateway.running_turns to coach_gateway;
-- Bound to a user the gateway sees that user's rows; unbound, for recovery, those of all.
create policy running_turns_gateway on gateway.running_turns to coach_gateway
    using (user_id = gateway.user_id() or gateway.is_unbound()) with check (user_id = gateway.user_id() or gateway.is_unbound());
-- Removes the messages and turns of a removed conversation. Foreign keys would do it, too, but check the conversation at every inserted row. Turn
-- functions write messages only while they lock the row of the running turn, or of its conversation when it begins: so this waits for turns that
-- have begun, and later ones find no conversation. The reserve of a turn that runs is given back, last, as in finish_turn: a receipt that comes late
-- locks its turn, then the budget. Touches rows of the conversation's own user only. With its owner's rights, as a foreign key.
create function gateway.remove_conversation() returns trigger
    language plpgsql security definer set search_path = '' as $$
declare
    running gateway.running_turns;
begin
    delete from gateway.running_turns r where r.user_id = old.user_id and r.conversation_id = old.id returning r.* into running;
    delete from public.turns t where t.user_id = old.user_id and t.conversation_id = old.id;
    delete from public.messages m where m.user_id = old.user_id and m.conversation_id = old.id;
    if running.reserved_usd <> 0 or running.reserved_tokens <> 0 then
        update public.budgets b
        set reserved_usd = b.reserved_usd - running.reserved_usd, reserved_tokens = b.reserved_tokens - running.reserved_tokens
        where b.user_id = old.user_id and b.day = running.day;
    end if;
    return null;
end $$;
create trigger remove after delete on public.conversations for each row execute function gateway.remove_conversation();

revoke all on public.turns from anon, authenticated, coach_gateway;
alter table public.turns enable row level security;
-- Users read how their turns ended. Execution, assessments and idempotency keys are internal.
grant select (
    user_id, id, conversation_id, user_message_id, message_id, attempt, status, finish_reason, error_code, persona_id, domain,
    domain_confidence, retry_of, created_at, started_at, finished_at, updated_at
) on public.turns to authenticated;
grant select, insert, update on public.turns to coach_gateway;
create policy turns_owner_select on public.turns for select to authenticated using (user_id = (select auth.uid()));
create policy turns_gateway on public.turns to coach_gateway
    using (user_id = gateway.user_id()) with check (user_id = gateway.user_id());

revoke all on all functions in schema gateway from public, anon, authenticated;
