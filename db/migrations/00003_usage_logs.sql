-- The ledger: one row a turn and attempt at which a provider accepted the call.

create table public.usage_logs (
    -- Goes with its conversation, as that does with the user.
    user_id uuid not null,
    turn_id uuid not null,
    attempt integer not null,
    conversation_id uuid not null,
    message_id uuid not null,
    persona_id uuid,
    domain public.coaching_domain,
    tier text not null,
    provider text not null,
    model text not null,
    -- Disjoint classes; NULL is unknown, never zero.
    input_tokens integer,
    cached_input_tokens integer,
    cache_write_tokens integer,
    output_tokens integer,
    reasoning_tokens integer,
    -- Their sums, made by the turn functions: a generated column is read and planned anew by each statement that writes to its table.
    tokens_in integer,
    tokens_out integer,
    -- NULL: the model has no price.
    cost_usd numeric(20, 9),
    -- The provider reported no usage; tokens were counted from the text.
    estimated boolean not null default false,
    -- A row of the reaper stands in for a lost owner; the owner's own receipt replaces it, and nothing replaces that.
    settled_by public.settler not null default 'owner',
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    primary key (user_id, turn_id, attempt)
);
