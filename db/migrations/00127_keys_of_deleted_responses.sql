-- A request of an OpenAI SDK that continues a response has a key that is made from its body, sdk:<hash>, by which its repetition finds the turn. When that turn
-- is deleted, the response before it can be continued again: the same body sent anew begins a turn, and does not meet the key of the removed one.

select gateway.edit_function(
    'gateway.delete_response(uuid,uuid)',
    $old$update public.turns t set deleted_at = now(), change = number, updated_at = now()
$old$,
    $new$update public.turns t set deleted_at = now(), change = number, updated_at = now(),
        idempotency_key = case when not starts_with(t.idempotency_key, 'sdk:') then t.idempotency_key end
$new$);
