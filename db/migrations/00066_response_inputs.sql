-- Inputs of responses, for clients of OpenAI's protocol.

-- The user's message of a turn; NULL when the user has no such turn. is_latest: no later turn of its conversation has an answer or is running.
-- is_of_response: it was begun through the OpenAI-compatible routes. result: {message_id, content, is_of_response, is_latest}
create function gateway.response_input(uid uuid, turn_id uuid) returns jsonb
    language plpgsql stable set search_path = '' as $$
begin
    perform gateway.check_caller(uid);
    return (
        select jsonb_build_object(
            'message_id', m.id, 'content', m.content, 'is_of_response', c.source = 'openai',
            'is_latest', not exists (
                select from public.turns o
                where o.user_id = gateway.user_id() and o.conversation_id = t.conversation_id and o.seq > t.seq and o.deleted_at is null
                    and o.status <> 'failed'))
        from public.turns t
        join public.messages m on m.user_id = t.user_id and m.id = t.user_message_id
        join public.conversations c on c.user_id = t.user_id and c.id = t.conversation_id
        where t.user_id = gateway.user_id() and t.id = $2 and t.deleted_at is null);
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function gateway.response_input(uuid, uuid) to coach_gateway;
