-- Budgets that many users share: of the installation, of a tier, of a persona. Instances take slices in advance and spend them in memory, so a row
-- is written once for many turns. The sum of the slices is never above the limit; a slice of an instance that crashed stays taken.

create table gateway.shared_budgets (
    scope text not null check (scope in ('installation', 'tier', 'persona')),
    -- Empty for the installation.
    id text not null check (octet_length(id) <= 255),
    -- UTC.
    day date not null,
    -- Nanodollars of all slices.
    taken bigint not null default 0 check (taken >= 0),
    -- The limit at the last slice.
    at_most bigint,
    primary key (scope, id, day)
) with (fillfactor = 50);
create index shared_budgets_age on gateway.shared_budgets (day);

-- Takes up to `want` of what is left of `at_most`, and returns how much that was. Nanodollars.
create function gateway.take_slice(scope text, id text, day date, at_most bigint, want bigint) returns bigint
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
declare
    before bigint;
    granted bigint;
begin
    insert into gateway.shared_budgets (scope, id, day) values ($1, $2, $3) on conflict do nothing;
    if found then
        -- Turns of the day before may still end.
        delete from gateway.shared_budgets b where b.day < $3 - 1;
    end if;
    select b.taken into strict before from gateway.shared_budgets b where b.scope = $1 and b.id = $2 and b.day = $3 for update;
    granted := greatest(0, least(want, at_most - before));
    if granted > 0 then
        update gateway.shared_budgets b set taken = before + granted, at_most = $4 where b.scope = $1 and b.id = $2 and b.day = $3;
    end if;
    return granted;
end $$;

-- Returns what was not spent of a slice. False when the day is over and its row is gone.
create function gateway.return_slice(scope text, id text, day date, amount bigint) returns boolean
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
begin
    update gateway.shared_budgets b set taken = greatest(0, b.taken - amount) where b.scope = $1 and b.id = $2 and b.day = $3;
    return found;
end $$;

revoke all on gateway.shared_budgets from anon, authenticated, coach_gateway;
alter table gateway.shared_budgets enable row level security;
grant select, insert, update, delete on gateway.shared_budgets to coach_gateway;
-- For no user at hand.
create policy shared_budgets_gateway on gateway.shared_budgets to coach_gateway
    using (gateway.is_unbound()) with check (gateway.is_unbound());

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.take_slice(text, text, date, bigint, bigint), gateway.return_slice(text, text, date, bigint)
    to coach_gateway;
