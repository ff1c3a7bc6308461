-- Deleting a conversation stops its turn (CONTRACT §4), whoever deletes it, and also when the answer to the deletion is lost. The owner of the turn sees the
-- request at its next renewal. One that is locked is tried again for 30 ms, and not waited for, because whoever ends a turn locks it before its
-- conversation; then the stop is lost, unless the gateway deletes, which stops the turn itself. Row-local, with its owner's rights: users do not write
-- running turns.
create function gateway.stop_deleted_turn() returns trigger
    language plpgsql security definer set search_path = '' as $$
begin
    for attempt in 1 .. 6 loop
        update gateway.running_turns r set stop_requested_at = clock_timestamp()
        from (
            select o.user_id, o.conversation_id from gateway.running_turns o
            where o.user_id = new.user_id and o.conversation_id = new.id and o.stop_requested_at is null
            for update skip locked
        ) as free
        where r.user_id = free.user_id and r.conversation_id = free.conversation_id;
        exit when found or not exists (
            select from gateway.running_turns o where o.user_id = new.user_id and o.conversation_id = new.id and o.stop_requested_at is null);
        perform pg_sleep(0.005);
    end loop;
    return null;
end $$;
create trigger stop_turn after update of deleted_at on public.conversations for each row
    when (old.deleted_at is null and new.deleted_at is not null) execute function gateway.stop_deleted_turn();

revoke all on function gateway.stop_deleted_turn() from public, anon, authenticated, coach_gateway;
