-- Numbers of changes, for clients that synchronise: which of a user's rows changed since a number. Times do not work, because a row is visible at
-- its commit, later than any time written into it. Each transaction that changes rows of a user takes that user's next number and locks the
-- counter until its commit, so a reader who sees number n sees all rows with numbers up to n.

-- Part of every token, because numbers are valid in one database only, and not after a backup was restored: then set another value, see
-- db/README.md.
create table public.database_epoch (
    epoch uuid not null default gen_random_uuid(),
    only_row boolean primary key default true check (only_row)
);
insert into public.database_epoch default values;

create table public.change_counters (
    user_id uuid primary key references public.users (id) on delete cascade,
    last_change bigint not null default 0,
    -- Rows with numbers up to this one may have been removed without a tombstone, so a client with an older token starts again.
    removed_through bigint not null default 0
) with (fillfactor = 50);

alter table public.conversations add column change bigint not null default 0;
alter table public.messages add column change bigint not null default 0;
-- In the order of changes: synchronisation reads a page of them, and the search what is new since it was indexed. Turns have none, which would make
-- each end of a turn write all of their indexes: a turn's change comes with one of a message, its answer or the user's message itself.
create index idx_messages_change on public.messages (user_id, change);
-- Conversations have none either: all of a user's are read (1.5 ms for 5,000), which is less than what an index costs each end of a turn, whose update
-- is heap-only without it.
-- Set by gateway.version_profile.
alter table public.context_profiles add column change bigint not null default 0;
-- A message is shown with its turn's domain, which is decided later.
alter table public.turns add column change bigint not null default 0;
-- Users read columns of turns, not rows.
grant select (change) on public.turns to authenticated;

-- The user's next change number. Locks their counter until the transaction ends. Turn functions call it once and set `change` themselves; every
-- other writer is numbered by the triggers below.
create function gateway.next_change(user_id uuid) returns bigint
    language plpgsql as $$
declare
    number bigint;
begin
    update public.change_counters c set last_change = c.last_change + 1 where c.user_id = $1 returning c.last_change into number;
    if not found then
        insert into public.change_counters as c (user_id, last_change) values ($1, 1)
        on conflict on constraint change_counters_pkey do update set last_change = c.last_change + 1
        returning c.last_change into number;
    end if;
    return number;
end $$;

-- The number of this transaction for a user. Taken once: the setting ends with the transaction, or with the subtransaction that is rolled back.
create function gateway.take_change(user_id uuid) returns bigint
    language plpgsql as $$
declare
    taken constant text := current_setting('gateway.change', true);
    number bigint;
begin
    if left(taken, 36) = user_id::text then
        return substr(taken, 38)::bigint;
    end if;
    number := gateway.next_change(user_id);
    perform set_config('gateway.change', user_id || ' ' || number, true);
    return number;
end $$;

-- Locks the counter before any conversation or profile: two statements of a user that update conversations, and took the number at their first row, could wait
-- for each other. Turn functions lock the counter before, too.
create function gateway.number_statement() returns trigger
    language plpgsql security definer set search_path = '' as $$
declare
    uid constant uuid := coalesce(gateway.user_id(), auth.uid());
begin
    if exists (select from public.users u where u.id = uid) then
        perform gateway.take_change(uid);
    end if;
    return null;
end $$;
-- Users insert and edit conversations themselves; all else is written by functions, which set `change`. Row-local, with its owner's rights: users
-- do not write counters.
create function gateway.number_edit() returns trigger
    language plpgsql security definer set search_path = '' as $$
begin
    new.change := gateway.take_change(new.user_id);
    if tg_op = 'UPDATE' and new.updated_at = old.updated_at then
        new.updated_at := now();
    end if;
    return new;
end $$;
-- For these columns only, because each statement parses the conditions of its triggers again: most updates of the turn functions have none of them.
create trigger number_statement before update of title, domain, deleted_at on public.conversations for each statement
    when (current_user <> 'coach_gateway') execute function gateway.number_statement();
create trigger number_statement before insert or update on public.context_profiles for each statement
    execute function gateway.number_statement();
create trigger number_edit before update of title, domain, deleted_at on public.conversations for each row
    when (new.change = old.change) execute function gateway.number_edit();
create trigger number_insert before insert on public.conversations for each row when (new.change = 0)
    execute function gateway.number_edit();

-- A removed conversation leaves no tombstone. When its user is removed, too, there is no counter.
create function gateway.note_removal() returns trigger
    language plpgsql security definer set search_path = '' as $$
begin
    update public.change_counters c set last_change = c.last_change + 1, removed_through = c.last_change + 1 where c.user_id = old.user_id;
    return null;
end $$;
-- No client has a preview.
create trigger note_removal after delete on public.conversations for each row when (old.source <> 'preview')
    execute function gateway.note_removal();

revoke all on public.database_epoch, public.change_counters from anon, authenticated, coach_gateway;
alter table public.database_epoch enable row level security;
alter table public.change_counters enable row level security;
grant select on public.database_epoch, public.change_counters to authenticated;
create policy database_epoch_select on public.database_epoch for select to authenticated using (true);
grant select, insert, update on public.change_counters to coach_gateway;
create policy change_counters_gateway on public.change_counters to coach_gateway
    using (user_id = gateway.user_id()) with check (user_id = gateway.user_id());
create policy change_counters_owner_select on public.change_counters for select to authenticated using (user_id = (select auth.uid()));

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function gateway.next_change(uuid) to coach_gateway;
