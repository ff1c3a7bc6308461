-- Instances that run turns. One lease per instance, on the database's clock, instead of one per turn.

create table gateway.instances (
    -- Chosen by the instance, the same after a restart.
    id uuid primary key,
    -- Higher at each start: the microseconds of the instance's clock, unless a higher one is stored.
    epoch bigint not null,
    -- The last renewal: four a second while turns run, one a second without.
    renewed_at timestamptz not null,
    -- The instances' clock at the last renewal.
    clock interval not null,
    -- The instances' clock when this one was the first to renew after an outage.
    returned_at interval
) with (fillfactor = 20);

revoke all on gateway.instances from anon, authenticated, coach_gateway;
alter table gateway.instances enable row level security;
grant select, insert, update, delete on gateway.instances to coach_gateway;
create policy instances_gateway on gateway.instances to coach_gateway using (true) with check (true);

-- Time on the instances' clock after which an instance without renewal has expired: noticed within 10 s.
create function gateway.lease() returns interval language sql immutable
    return interval '7 seconds';

-- Without any renewal for this long, the database is assumed to have been unavailable. Half a lease: an instance that was cut off for less, and
-- needs as long again to reconnect, still counts as alive.
create function gateway.silence() returns interval language sql immutable
    return interval '3.5 seconds';

-- After an outage all leases look expired: instances have this time to renew theirs.
create function gateway.grace() returns interval language sql immutable
    return interval '15 seconds';

-- The instances' clock: it advances while any instance renews, and stops while none can. So it measures the time during which the database was
-- available: an instance's missing renewals count only while others could renew, and repeated outages do not restart the count. A renewal in the
-- future was written before the database's clock was set back, or by a primary whose clock was ahead, and counts as stale. The tolerance covers
-- renewals that are written while this runs.
create function gateway.read_clock(moment timestamptz) returns table (reading interval, stood_still boolean)
    language sql stable
begin atomic
    select coalesce(latest.clock, interval '0') + case
            when latest.renewed_at > moment - gateway.silence() then greatest(moment - latest.renewed_at, interval '0')
            else interval '0' end,
        coalesce(latest.renewed_at <= moment - gateway.silence(), true)
    from (
        select max(i.clock) as clock, max(i.renewed_at) filter (where i.renewed_at <= moment + interval '1 second') as renewed_at
        from gateway.instances i) as latest;
end;

-- Registers an epoch of an instance, unless a higher one is stored; returns the stored one. A process chooses its epoch itself, so that a
-- delayed statement registers nothing again: neither a repeated one, nor one of an earlier process.
create function gateway.register_instance(instance uuid, epoch bigint) returns bigint
    language plpgsql set search_path = '' as $$
declare
    moment constant timestamptz := clock_timestamp();
    now record;
    returned interval;
begin
    select * into now from gateway.read_clock(moment);
    -- Other instances have turns and none renewed: perhaps none could.
    if now.stood_still
        and exists (select from gateway.running_turns r where r.owner_instance is distinct from instance)
    then
        returned := now.reading;
    end if;
    insert into gateway.instances as i (id, epoch, renewed_at, clock, returned_at)
    values (instance, $2, moment, now.reading, returned)
    on conflict (id) do update
        set epoch = excluded.epoch, renewed_at = moment, clock = now.reading, returned_at = coalesce(returned, i.returned_at)
        where i.epoch <= excluded.epoch;
    -- Instances that are gone. A turn without its owner's row is an orphan, too.
    delete from gateway.instances i where i.renewed_at < moment - interval '7 days';
    return (select i.epoch from gateway.instances i where i.id = instance);
end $$;

-- Renews the lease of an instance's epoch, and returns its turns that were asked to stop. No row: a later epoch exists, and this process must end.
-- A separate statement, so that no other slow or failing one delays it.
create function gateway.renew_lease(instance uuid, epoch bigint) returns table (stops uuid[])
    language plpgsql set search_path = '' set enable_seqscan = off as $$
declare
    moment constant timestamptz := clock_timestamp();
    now record;
begin
    select * into now from gateway.read_clock(moment);
    update gateway.instances i
    set renewed_at = moment, clock = now.reading,
        -- One slow instance is no outage, because others renewed meanwhile.
        returned_at = case when now.stood_still then now.reading else i.returned_at end
    where i.id = instance and i.epoch = $2;
    if not found then
        -- The row was lost, for instance when a backup was restored, or an earlier epoch's renewal came after that.
        insert into gateway.instances as i (id, epoch, renewed_at, clock, returned_at)
        values (instance, $2, moment, now.reading, case when now.stood_still then now.reading end)
        on conflict (id) do update
            set epoch = excluded.epoch, renewed_at = moment, clock = now.reading, returned_at = excluded.returned_at
            where i.epoch < excluded.epoch;
        if not found then
            return;
        end if;
    end if;
    stops := array(
        select r.turn_id from gateway.running_turns r
        where r.owner_instance = instance and r.owner_epoch = $2 and r.stop_requested_at is not null);
    return next;
end $$;

-- Whether an instance's epoch has expired, as seen by the calling instance. A later epoch of the same instance proves it at once. Otherwise it has not
-- renewed for a lease, while the caller has, and no instance has just returned from an outage; or not for the whole grace, in any case.
create function gateway.has_expired(owner uuid, owner_epoch bigint, observer uuid, observer_epoch bigint, moment timestamptz) returns boolean
    language plpgsql stable set search_path = '' as $$
begin
    return exists (select from gateway.instances i where i.id = owner and i.epoch > $2)
        or exists (
            select from gateway.instances i
            where i.id = observer and i.epoch = $4
                and i.renewed_at > moment - gateway.silence() and i.renewed_at <= moment + interval '1 second')
        and (
            select case
                when exists (select from gateway.instances i where i.returned_at > now.reading - gateway.grace())
                then owner_row.clock <= now.reading - gateway.grace()
                else coalesce(owner_row.clock <= now.reading - gateway.lease(), true) end
            from gateway.read_clock(moment) as now
            left join gateway.instances owner_row on owner_row.id = owner and owner_row.epoch = $2) is true;
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.lease(), gateway.silence(), gateway.grace(), gateway.read_clock(timestamptz),
    gateway.register_instance(uuid, bigint), gateway.renew_lease(uuid, bigint),
    gateway.has_expired(uuid, bigint, uuid, bigint, timestamptz)
    to coach_gateway;
