-- The messages of today are those that gateway.count_request counts on: after the database's clock was set back, also those of tomorrow. `me/usage` had none
-- then, and would say that a message is left where begin_turn rejects it.
select gateway.edit_function('gateway.account_usage(uuid)', 'r.day = today)', 'r.day between today and today + 1)');
