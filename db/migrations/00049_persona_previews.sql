-- Previews: a creator tries the draft of a persona. Each is a turn in a conversation of source `preview`, which no list shows and which is removed
-- when it could not be resumed any more. The ledger keeps its cost, with purpose `preview`.

create index idx_conversations_preview on public.conversations (last_message_at) where source = 'preview';

-- Removes at most `at_most` previews that began longer ago than `keep`, with messages and turns; returns how many. They leave no tombstone, because
-- no client has them. Runs with its owner's rights: no role may remove messages otherwise.
create function gateway.purge_previews(keep interval, at_most integer) returns integer
    language plpgsql security definer set search_path = '' set lock_timeout = '100ms' as $$
declare
    purged integer;
begin
    if not gateway.is_unbound() then
        raise exception 'content is purged without claims' using errcode = 'insufficient_privilege';
    end if;
    delete from public.conversations c
    where (c.user_id, c.id) in (
        select p.user_id, p.id from public.conversations p
        where p.source = 'preview' and p.last_message_at < now() - keep
            -- A running turn is billed first.
            and not exists (select from gateway.running_turns r where r.user_id = p.user_id and r.conversation_id = p.id)
        order by p.last_message_at limit at_most for update skip locked);
    get diagnostics purged = row_count;
    return purged;
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function gateway.purge_previews(interval, integer) to coach_gateway;
