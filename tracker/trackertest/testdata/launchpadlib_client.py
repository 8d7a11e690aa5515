"""Uses the real launchpadlib against a practice tracker: signs in, then reads and changes bugs.

Arguments: the root of the service, the version of the API, a folder for caches, and whether to sign in as an application of
its own ("consumer") or for a whole desktop, as apport does ("desktop"). It prints the page on which to authorise, and goes on
when a line arrives on its standard input. Any difference from what is expected ends it with a traceback.
"""

import datetime
import sys

from launchpadlib.credentials import AuthorizeRequestTokenWithURL, MemoryCredentialStore
from launchpadlib.launchpad import Launchpad
from lazr.restfulclient.errors import BadRequest, Unauthorized

root, version, folder, how = sys.argv[1:]
OPEN, FIXED = 2100001, 2100002  # what the test has put there


def same(what, got, want):
    if got != want:
        raise AssertionError("%s: got %r, want %r" % (what, got, want))


def refused(kind, words, call):
    try:
        call()
    except kind as e:
        if words not in str(e):
            raise AssertionError("got %s, want %r in it" % (e, words))
        return
    raise AssertionError("was not refused, want %s" % kind.__name__)


def anonymous():
    lp = Launchpad.login_anonymously("somebody nobody knows", root, folder + "/anonymous", version=version)
    same("title", lp.bugs[OPEN].title, "gedit crashed with SIGSEGV")
    refused(Unauthorized, "logged in", lambda: lp.me.name)
    refused(Unauthorized, "newMessage", lambda: lp.bugs[OPEN].newMessage(content="hello"))


def reading(lp):
    same("me", lp.me.name, "practice-person")
    same("a person", lp.people["someone-else"].display_name, "someone-else")
    same("people", [p.name for p in lp.people], ["practice-person"])
    same("distributions", [d.name for d in lp.distributions], ["ubuntu"])
    bug = lp.bugs[OPEN]
    same("bug", (bug.id, bug.information_type, bug.private, bug.tags), (OPEN, "Public", False, ["noble"]))
    same("owner", bug.owner.name, "someone-else")
    same("messages", [m.content for m in bug.messages], ["It crashes.", "Me too.", "And me."])
    same("second message", (bug.messages[1].owner.name, len(bug.messages)), ("ada", 3))
    same("not a duplicate", bug.duplicate_of, None)
    tasks = list(bug.bug_tasks)
    same("tasks", [(t.bug_target_name, t.status) for t in tasks], [("gedit (Ubuntu)", "Confirmed"), ("gedit (Ubuntu Noble)", "New")])
    same("the task's bug", tasks[0].bug.id, OPEN)
    same("the task's target", tasks[0].target.name, "gedit")
    same("what can be asked for", "searchTasks" in lp.distributions["ubuntu"].lp_operations, True)
    refused(KeyError, "4711", lambda: lp.bugs[4711])
    return bug


def searching(lp):
    ubuntu = lp.distributions["ubuntu"]
    gedit = ubuntu.getSourcePackage(name="gedit")
    same("no such package", ubuntu.getSourcePackage(name="No Such"), None)
    same("open bugs of a package", [t.bug.id for t in gedit.searchTasks()], [OPEN])
    same("fixed ones", [t.bug.id for t in gedit.searchTasks(status=["Fix Released"], omit_duplicates=False)], [FIXED])
    refused(ValueError, "no_such_parameter", lambda: gedit.searchTasks(no_such_parameter=1))
    refused(BadRequest, "Invalid value", lambda: list(gedit.searchTasks(status="Odd")))
    many = ubuntu.searchTasks(search_text="one of many", order_by=["-id"])
    same("how many", len(many), 12)
    ids = [t.bug.id for t in many]  # three pages
    same("each once, newest first", ids, sorted(set(ids), reverse=True))
    same("all of them", len(ids), 12)
    same("a slice over pages", [t.bug.id for t in many[3:9]], ids[3:9])
    same("one of them", many[11].bug.id, ids[11])
    same("everywhere", len(lp.bugs.searchTasks(search_text="no such words")), 0)
    since = datetime.datetime(2001, 1, 1, tzinfo=datetime.timezone.utc)
    same("since then", len(ubuntu.searchTasks(created_since=since, search_text="one of many")), 12)
    published = ubuntu.main_archive.getPublishedSources(source_name="gedit", exact_match=True, version="46.1")
    same("published", [p.source_package_version for p in published], ["46.1"])


def changing(lp, bug):
    bug.title, bug.tags, bug.description = "gedit crashed: \u00fcber", ["noble", "regression-update"], "It crashes often."
    bug.lp_save()
    same("bug", (bug.title, bug.tags), ("gedit crashed: \u00fcber", ["noble", "regression-update"]))
    same("read again", lp.load(bug.self_link).description, "It crashes often.")
    bug.tags = ["Bad Tag"]
    refused(BadRequest, "tags: ", bug.lp_save)
    bug.lp_refresh()
    bug.message_count = 5
    refused(BadRequest, "read-only", bug.lp_save)


def creating(lp):
    target = lp.distributions["ubuntu"].getSourcePackage(name="bash")
    made = lp.bugs.createBug(
        title="bash crashed with SIGSEGV in parse()", description="First line\nsecond: 24.10, \u00e9", target=target,
        tags=["apport-crash", "noble"], information_type="Public")
    same("made", (made.title, made.description, made.tags), (
        "bash crashed with SIGSEGV in parse()", "First line\nsecond: 24.10, \u00e9", ["apport-crash", "noble"]))
    same("its task", [t.bug_target_name for t in made.bug_tasks], ["bash (Ubuntu)"])
    comment = made.newMessage(content="another crash", subject="Re: it")
    same("comment", (comment.content, comment.owner.name), ("another crash", "practice-person"))
    same("comments", [m.content for m in made.messages][1:], ["another crash"])
    same("comment by its address", lp.load(comment.self_link).content, "another crash")
    subscription = made.subscribe(person=lp.people["ada"])
    same("subscription", (subscription.person.name, subscription.bug.id), ("ada", made.id))
    same("subscriptions", sorted(s.person.name for s in made.subscriptions), ["ada", "practice-person"])
    refused(BadRequest, "title", lambda: lp.bugs.createBug(title="", description="d", target=target))
    refused(ValueError, "required", lambda: lp.bugs.createBug(title="t", target=target))
    made.information_type = "Private"
    made.lp_save()
    same("private", (made.private, made.information_type), (True, "Private"))
    print("made", made.id)


anonymous()
if how == "desktop":
    engine = AuthorizeRequestTokenWithURL(root, application_name="launchpadlib's test")
else:
    engine = AuthorizeRequestTokenWithURL(root, consumer_name="launchpadlib's test", allow_access_levels=["WRITE_PRIVATE"])
launchpad = Launchpad.login_with(
    service_root=root, launchpadlib_dir=folder + "/person", version=version, authorization_engine=engine,
    credential_store=MemoryCredentialStore())
the_bug = reading(launchpad)
searching(launchpad)
changing(launchpad, the_bug)
creating(launchpad)
print("done")
