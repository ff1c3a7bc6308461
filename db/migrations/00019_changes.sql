-- What a client asks that was offline: which of a user's rows have changed since. Times cannot answer it: a row is visible at its commit, which is
-- later than any time that was written into it. So each transaction that changes rows of a user takes that user's next number, while it holds the
-- user's counter until its commit: whoever reads number n has all rows of the numbers up to n.

-- A part of every token. Numbers mean nothing in another database, nor in this one after a backup was restored: then give it another value, see
-- db/README.md.
create table public.database_epoch (
    epoch uuid not null default gen_random_uuid(),
    only_row boolean primary key default true check (only_row)
);
insert into public.database_epoch default values;

create table public.change_counters (
    user_id uuid primary key references public.users (id) on delete cascade,
    last_change bigint not null default 0,
    -- Rows that had a number up to this one have been removed without a trace, so a client with an older token starts again.
    removed_through bigint not null default 0
) with (fillfactor = 50);

alter table public.conversations add column change bigint not null default 0;
alter table public.messages add column change bigint not null default 0;
-- A message is shown with its turn's domain, which is known later.
alter table public.turns add column change bigint not null default 0;
-- Users read columns of turns, not rows.
grant select (change) on public.turns to authenticated;

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
    update public.change_counters c set last_change = c.last_change + 1 where c.user_id = $1 returning c.last_change into number;
    if not found then
        insert into public.change_counters as c (user_id, last_change) values ($1, 1)
        on conflict on constraint change_counters_pkey do update set last_change = c.last_change + 1
        returning c.last_change into number;
    end if;
    perform set_config('gateway.change', user_id || ' ' || number, true);
    return number;
end $$;

-- Row-local, with its owner's rights: the counter is written by nobody else.
create function gateway.number_change() returns trigger
    language plpgsql security definer set search_path = '' as $$
declare
    -- As in take_change; a turn comes here several times, and each call of a function costs more than this.
    taken constant text := current_setting('gateway.change', true);
begin
    if left(taken, 36) = new.user_id::text then
        new.change := substr(taken, 38)::bigint;
    else
        new.change := gateway.take_change(new.user_id);
    end if;
    return new;
end $$;
-- The counter is locked before any conversation, in every statement of a user: two that change conversations, and take the number at the first,
-- would otherwise wait for each other.
create function gateway.number_statement() returns trigger
    language plpgsql security definer set search_path = '' as $$
declare
    uid uuid;
begin
    if current_setting('gateway.change', true) <> '' then
        return null;
    end if;
    uid := coalesce(gateway.user_id(), auth.uid());
    if exists (select from public.users u where u.id = uid) then
        perform gateway.take_change(uid);
    end if;
    return null;
end $$;
create trigger number_statement before update on public.conversations for each statement execute function gateway.number_statement();
create trigger number before insert or update on public.conversations for each row execute function gateway.number_change();
create trigger number before insert or update on public.messages for each row execute function gateway.number_change();
create trigger number before update on public.turns for each row when (old.domain is distinct from new.domain)
    execute function gateway.number_change();

-- A removed conversation leaves no row to tell of it. With its user no counter is left either.
create function gateway.note_removal() returns trigger
    language plpgsql security definer set search_path = '' as $$
begin
    update public.change_counters c set last_change = c.last_change + 1, removed_through = c.last_change + 1 where c.user_id = old.user_id;
    return null;
end $$;
create trigger note_removal after delete on public.conversations for each row execute function gateway.note_removal();

revoke all on public.database_epoch, public.change_counters from anon, authenticated, coach_gateway;
alter table public.database_epoch enable row level security;
alter table public.change_counters enable row level security;
grant select on public.database_epoch, public.change_counters to authenticated;
create policy database_epoch_select on public.database_epoch for select to authenticated using (true);
create policy change_counters_owner_select on public.change_counters for select to authenticated using (user_id = (select auth.uid()));

revoke all on all functions in schema gateway from public, anon, authenticated;
