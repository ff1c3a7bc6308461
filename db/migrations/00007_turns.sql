-- A turn: one message of a user and the answer to it, however often the model was asked.

create type public.turn_status as enum ('running', 'complete', 'stopped', 'interrupted', 'failed');
create type public.finish_reason as enum ('stop', 'length', 'stopped', 'safety');
create type public.domain_source as enum ('pinned', 'persona', 'message', 'conversation', 'abstained');
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
    -- Place of the user's message in its conversation; the answer's is the next.
    seq integer not null,
    -- Counts model calls on this message, from 1.
    attempt integer not null default 1,
    status public.turn_status not null default 'running',
    finish_reason public.finish_reason,
    error_code text,

    -- The same key with the same body is the same turn.
    idempotency_key public.idempotency_key,
    request_hash bytea not null,
    -- Whether the first request named a conversation: only then must a repetition name the same one.
    conversation_named boolean not null,

    persona_id uuid,
    tier text not null,
    locale text,
    country text,
    -- What the request pinned, for its retries.
    pinned_domain public.coaching_domain,
    domain public.coaching_domain,
    domain_confidence real,
    domain_source public.domain_source,
    -- What was found, never the text it was found in.
    risk_tier public.risk_tier not null default 0,
    risk_categories text[] not null default '{}',
    risk_subject public.risk_subject not null default 'unclear',
    risk_patterns text[] not null default '{}',

    -- Set aside in budgets for this attempt while it runs.
    reserved_usd numeric(20, 9) not null default 0,
    settled_by public.settler,
    -- Which life of which gateway runs it; gateway.instances says whether that one still lives.
    owner_instance uuid,
    owner_epoch bigint,
    -- Set by whatever gateway was asked to stop it; its owner looks for it.
    stop_requested_at timestamptz,
    -- The turn whose answer this one is to replace. The user's message names the latest of them.
    retry_of uuid,

    time_to_first_token_ms integer,
    duration_ms integer,
    created_at timestamptz not null default now(),
    -- Start and end of the current attempt.
    started_at timestamptz not null default now(),
    finished_at timestamptz,
    updated_at timestamptz not null default now(),
    primary key (user_id, id)
);

create unique index idx_turns_idempotency_key on public.turns (user_id, idempotency_key) where idempotency_key is not null;
-- One running turn a conversation; also counts a user's running turns.
create unique index idx_turns_running on public.turns (user_id, conversation_id) where status = 'running';
-- What an owner asks several times a second; almost always empty.
create index idx_turns_stopping on public.turns (owner_instance) where status = 'running' and stop_requested_at is not null;

-- Who removes a conversation, by hand or with its user, removes all that hangs on it. Foreign keys would do it too, and look at the conversation
-- again at every row of every turn. Nothing comes after this: the turn functions write messages and the ledger only while they hold the row of
-- the turn, or of its conversation when it begins, so what was begun is waited for, and what has not begun finds nothing.
-- With its owner's rights, as a foreign key: who removes a user need not be one who may touch his turns.
create function gateway.remove_conversations() returns trigger
    language plpgsql security definer set search_path = '' as $$
begin
    -- The turns first. Those below are looked for when all that ran there have ended.
    delete from public.turns t using removed r where t.user_id = r.user_id and t.conversation_id = r.id;
    delete from public.messages m using removed r where m.user_id = r.user_id and m.conversation_id = r.id;
    delete from public.usage_logs u using removed r where u.user_id = r.user_id and u.conversation_id = r.id;
    return null;
end $$;
create trigger remove after delete on public.conversations
    referencing old table as removed for each statement execute function gateway.remove_conversations();

-- The same for who empties the table, by itself or with its users.
create function gateway.empty_conversations() returns trigger
    language plpgsql security definer set search_path = '' as $$
begin
    truncate public.turns, public.messages, public.usage_logs;
    return null;
end $$;
create trigger empty after truncate on public.conversations for each statement execute function gateway.empty_conversations();

revoke all on public.turns from anon, authenticated, coach_gateway;
alter table public.turns enable row level security;
grant select on public.turns to authenticated;
grant select, insert, update on public.turns to coach_gateway;
create policy turns_owner_select on public.turns for select to authenticated using (user_id = (select auth.uid()));
create policy turns_gateway on public.turns to coach_gateway
    using (user_id = gateway.user_id()) with check (user_id = gateway.user_id());

-- Without anybody's claims the gateway sees which turns run and which have just ended, of all users: it keeps them across crashes and shows
-- them on other instances. Nothing can be written that way. A view and not a second policy, which every statement of a user's turn would
-- have to weigh.
create view gateway.watched_turns as
    select * from public.turns where (status = 'running' or finished_at > now() - interval '10 minutes') and gateway.is_unbound();
revoke all on gateway.watched_turns from anon, authenticated, coach_gateway;
grant select on gateway.watched_turns to coach_gateway;

revoke all on all functions in schema gateway from public, anon, authenticated;
