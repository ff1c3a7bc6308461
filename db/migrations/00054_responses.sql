-- Deleting single turns, which only clients of OpenAI's protocol can.

-- Removes the texts of an ended turn in a conversation of source `openai`, and the conversation when it has no other. The ledger keeps its rows. False
-- when the user has no such turn.
create function gateway.delete_response(uid uuid, turn_id uuid) returns boolean
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
declare
    number constant bigint := gateway.next_change(uid);
    turn public.turns;
begin
    perform gateway.check_caller(uid);
    update public.turns t set deleted_at = now(), change = number, updated_at = now()
    from public.conversations c
    where t.user_id = uid and t.id = $2 and t.deleted_at is null and t.status <> 'running'
        and c.user_id = t.user_id and c.id = t.conversation_id and c.deleted_at is null and c.source = 'openai'
    returning t.* into turn;
    if not found then
        return false;
    end if;
    -- An empty message is never sent to a model.
    update public.messages m set content = '', status = 'superseded', updated_at = now(), change = number
    where m.user_id = uid and m.conversation_id = turn.conversation_id and m.turn_id = turn.id;
    -- Nor does a summary keep it, of which the next one is made of what is left, or a title, which is made of the first message.
    update public.conversations c set summary = null, summarised_through_seq = 0
    where c.user_id = uid and c.id = turn.conversation_id and c.summarised_through_seq >= turn.seq;
    update public.conversations c set title = null, updated_at = now(), change = number
    where c.user_id = uid and c.id = turn.conversation_id and turn.seq = 1;
    update public.conversations c
    set deleted_at = now(), updated_at = now(), change = number
    where c.user_id = uid and c.id = turn.conversation_id and not exists (
        select from public.turns t
        where t.user_id = uid and t.conversation_id = turn.conversation_id and t.deleted_at is null);
    return true;
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function gateway.delete_response(uuid, uuid) to coach_gateway;
