-- What people write down about problems, and what they follow.
select;
