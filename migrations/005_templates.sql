-- Texts of bugs that administrators have changed; the shipped one is in the program.
create table bug_templates (
    package      text        not null, -- source package; empty: all
    problem_type text        not null, -- empty: all
    body         text        not null,
    person       text        not null,
    changed      timestamptz not null,
    primary key (package, problem_type)
);
