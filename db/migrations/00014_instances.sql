-- The gateways that run turns. One lease each, on the database's clock, instead of one a turn: who renews it is alive, and so are his turns.

create table gateway.instances (
    -- Chosen by the instance and kept through its lives.
    id uuid primary key,
    -- Which life: each start has a higher one, at least the microseconds of the clock.
    epoch bigint not null,
    -- Renewed four times a second while turns run, once a second without.
    lease_expires_at timestamptz not null,
    -- When it last came back from a time in which it could not renew.
    recovered_at timestamptz
) with (fillfactor = 20);

revoke all on gateway.instances from anon, authenticated, coach_gateway;
alter table gateway.instances enable row level security;
grant select, insert, update, delete on gateway.instances to coach_gateway;
create policy instances_gateway on gateway.instances to coach_gateway using (true) with check (true);

-- How long an instance is believed to live after its last word.
create function gateway.lease() returns interval language sql immutable
    return interval '6 seconds';

-- After the database was away nobody has renewed, and everybody looks dead: so long after anybody's return all are given time for theirs.
create function gateway.grace() returns interval language sql immutable
    return interval '15 seconds';

-- A new life of an instance; returns its epoch, higher than all before, also when the row was lost meanwhile.
create function gateway.register_instance(instance uuid) returns bigint
    language plpgsql set search_path = '' as $$
declare
    moment constant timestamptz := clock_timestamp();
    -- Turns without an owner who could renew, and nobody who did: perhaps nobody could.
    returned constant timestamptz := case when
        not exists (select from gateway.instances i where i.lease_expires_at > moment)
        and exists (select from public.turns t where t.status = 'running' and t.owner_instance is distinct from instance)
        then moment end;
    life bigint;
begin
    insert into gateway.instances as i (id, epoch, lease_expires_at, recovered_at)
    values (instance, (extract(epoch from moment) * 1000000)::bigint, moment + gateway.lease(), returned)
    on conflict (id) do update
        set epoch = greatest(i.epoch + 1, excluded.epoch), lease_expires_at = excluded.lease_expires_at,
            recovered_at = coalesce(returned, i.recovered_at)
    returning i.epoch into life;
    -- Who is gone for good. A turn without its owner's row is as dead as one whose owner has not renewed.
    delete from gateway.instances i where i.lease_expires_at < moment - interval '7 days';
    return life;
end $$;

-- Renews the lease of a life of an instance. False: a later life has begun, this one must not go on.
create function gateway.renew_lease(instance uuid, life bigint) returns boolean
    language plpgsql set search_path = '' as $$
declare
    moment constant timestamptz := clock_timestamp();
begin
    -- Half a lease of silence is a return: others may have been away as long, and be later in coming back.
    update gateway.instances i
    set lease_expires_at = moment + gateway.lease(),
        recovered_at = case when i.lease_expires_at < moment + gateway.lease() / 2 then moment else i.recovered_at end
    where i.id = instance and i.epoch = life;
    if found then
        return true;
    end if;
    -- The row was lost: with a backup that was restored, for instance.
    insert into gateway.instances (id, epoch, lease_expires_at, recovered_at)
    values (instance, life, moment + gateway.lease(), moment)
    on conflict do nothing;
    return found;
end $$;

-- Whether the life of an instance is over, as far as the asking one may judge. A later life of the same proves it at once. Otherwise its
-- lease must have run out, 1.5 s ago for those that were a little late, while the asker renews his own and nobody has just come back.
create function gateway.is_dead(owner uuid, owner_life bigint, asker uuid, asker_life bigint, moment timestamptz) returns boolean
    language plpgsql stable set search_path = '' as $$
begin
    return exists (select from gateway.instances i where i.id = owner and i.epoch > owner_life)
        or not exists (
            select from gateway.instances i
            where i.id = owner and i.epoch = owner_life and i.lease_expires_at > moment - interval '1.5 seconds')
        and exists (select from gateway.instances i where i.id = asker and i.epoch = asker_life and i.lease_expires_at > moment)
        and not exists (select from gateway.instances i where i.recovered_at > moment - gateway.grace());
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.lease(), gateway.grace(), gateway.register_instance(uuid), gateway.renew_lease(uuid, bigint),
    gateway.is_dead(uuid, bigint, uuid, bigint, timestamptz)
    to coach_gateway;
