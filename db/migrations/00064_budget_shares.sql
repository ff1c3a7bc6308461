-- Soft limits of users' own budgets: how much of them is used.

-- The largest share of the user's budgets of the day and of the month that was used on the day; NULL: less than half, or there are none.
alter table public.budgets add column limit_share real;

-- For the alert, which looks for the largest.
create index idx_budgets_limit_share on public.budgets (day) where limit_share is not null;
