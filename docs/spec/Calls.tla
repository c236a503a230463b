------------------------------- MODULE Calls -------------------------------
(* One call of Lock, and the Release of its lease, whose requests and answers come late, in any order, or never: what   *)
(* an error promises, and what nil does. primitives/extend/hold.go has the steps, and primitives/internal/orphan those  *)
(* in the background.                                                                                                   *)
(*                                                                                                                      *)
(* Time is counted in ticks. A lease is two ticks. A request or an answer is lost Delay ticks after the request was     *)
(* sent. At most one request of each kind is under way.                                                                 *)
(*                                                                                                                      *)
(*    Promise of docs/guarantees.md                                configuration               result                   *)
(*    After a failed acquire the caller holds nothing; no request  calls                       holds                    *)
(*      is sent again; if Release returns nil, the owner held                                                           *)
(*      with a failover, whose former primary goes on              calls_failover              nil, and not held        *)
(*    Five planted bugs (module PlantedCalls) are found            planted_calls_...           each violates one        *)
(*                                                                                                                      *)
(* This module leaves out clocks, which module Lease has, and permits without leases. A waiter that tries again is a    *)
(* new owner, so another call. Bounds: one call and any number of others, five ticks, one failover.                     *)
EXTENDS Naturals
CONSTANTS Lease,         \* the ticks that a grant lasts
          Delay,         \* the ticks after which a request or an answer is lost
          MaxTime,       \* the last tick
          MaxFail        \* the number of failovers
VARIABLES now,           \* the time
          sv,            \* the servers: the primary, and after a failover the former one, too
          call,          \* the call
          net,           \* what is under way
          fails,         \* how many failovers there were
          ran,           \* how many times a server has run the call's acquire
          missed         \* was the lock not this owner's at some time between the grant and the release?
vars == <<now, sv, call, net, fails, ran, missed>>

\* A server: who has the lock, "us" or "other", and the expiry of its key.
Empty == [o |-> "none", exp |-> 0]
\* The call: what it does; until when the holder trusts its lease; when the caller left; whether its acquire is known to
\* have been answered: Orphan.AcquireDone.
Idle == [st |-> "idle", until |-> 0, left |-> 0, done |-> FALSE]
Init == /\ now = 1 /\ sv = [s \in {"primary", "former"} |-> Empty] /\ call = Idle /\ net = {} /\ fails = 0 /\ ran = 0
        /\ missed = FALSE

Up == IF fails = 0 THEN {"primary"} ELSE {"primary", "former"}
Ours(s) == sv[s].o = "us" /\ now < sv[s].exp
Free(s) == sv[s].o = "none" \/ now >= sv[s].exp
Is(st) == call.st = st
Trusts == Is("held") /\ now < call.until                   \* Lease.Err returns nil
Set(st) == call' = [call EXCEPT !.st = st]
\* A request, or its answer: its kind, and when the request was sent.
Send(kind) == /\ \A m \in net : m.k /= kind
              /\ net' = net \cup {[k |-> kind, s |-> now]}
Answer(m, kind) == net' = (net \ {m}) \cup {[m EXCEPT !.k = kind]}
Got(m, kinds) == m.k \in kinds /\ net' = net \ {m}

\* Configurations replace these to plant bugs.
Renews == Is("asked") \/ Trusts                            \* The hold is registered before its acquire is sent.
Repeats == FALSE                                           \* Does a driver send again what was not answered?
Unsent == Is("idle")                                       \* May the client say that the acquire was not sent?
Settles == call.done                                       \* Is the answer that the lock is not ours the last one?
AnswersNil(s) == Ours(s)

-----------------------------------------------------------------------------
\* Lock sends lock_acquire.lua.
Ask == Is("idle") /\ Set("asked") /\ Send("acquire") /\ UNCHANGED <<now, sv, fails, ran, missed>>
\* The request can't be sent: Lock returns an error that is not ErrIndeterminate.
Refuse == Unsent /\ Set("refused") /\ UNCHANGED <<now, sv, net, fails, ran, missed>>
Again == Repeats /\ Send("acquire") /\ UNCHANGED <<now, sv, call, fails, ran, missed>>
\* A server runs lock_acquire.lua.
Acquire(s, m) == /\ m.k = "acquire" /\ ran' = ran + 1
                 /\ IF Free(s) THEN sv' = [sv EXCEPT ![s] = [o |-> "us", exp |-> now + Lease]] /\ Answer(m, "granted")
                    ELSE Answer(m, "busy") /\ UNCHANGED sv
                 /\ UNCHANGED <<now, call, fails, missed>>
\* The client gets the answer: Lock returns the lease. If its caller has left, the client releases the grant.
Granted(m) == /\ Got(m, {"granted"}) /\ UNCHANGED <<now, sv, fails, ran, missed>>
              /\ CASE Is("asked") -> call' = [call EXCEPT !.st = "held", !.until = m.s + Lease]
                   [] Is("late") -> call' = [call EXCEPT !.st = "left", !.done = TRUE]
                   [] OTHER -> UNCHANGED call
Busy(m) == Got(m, {"busy"}) /\ Set("settled") /\ UNCHANGED <<now, sv, fails, ran, missed>>
\* The watchdog sends lock_renew.lua; a server runs it; the client gets the answer in time.
Renew == Renews /\ Send("renew") /\ UNCHANGED <<now, sv, call, fails, ran, missed>>
Renewed(s, m) == /\ m.k = "renew" /\ Ours(s) /\ sv' = [sv EXCEPT ![s].exp = now + Lease] /\ Answer(m, "renewed")
                 /\ UNCHANGED <<now, call, fails, ran, missed>>
Confirm(m) == /\ Got(m, {"renewed"}) /\ UNCHANGED <<now, sv, fails, ran, missed>>
              /\ IF Trusts THEN call' = [call EXCEPT !.until = m.s + Lease] ELSE UNCHANGED call
\* The context of Lock ends, while its request is under way.
Cancel == /\ Is("asked") /\ call' = [call EXCEPT !.st = "late", !.left = now]
          /\ UNCHANGED <<now, sv, net, fails, ran, missed>>
\* The connection breaks, and with it the answers: Lock or Release returns ErrIndeterminate. Or the lease is lost.
Leave == /\ call.st \in {"asked", "late", "held", "releases"}
         /\ call' = [call EXCEPT !.st = "left", !.left = IF @ = 0 THEN now ELSE @,
                                 !.done = call.st \in {"held", "releases"}]
         /\ net' = {m \in net : m.k \in {"acquire", "renew", "release"}} /\ UNCHANGED <<now, sv, fails, ran, missed>>
\* Release, and the releases in the background, for up to one lease, send lock_release.lua.
Release == /\ \/ Trusts /\ Set("releases")
              \/ Is("left") /\ now < call.left + Lease /\ UNCHANGED call
           /\ Send("release") /\ UNCHANGED <<now, sv, fails, ran, missed>>
Released(s, m) == /\ m.k = "release" /\ Answer(m, IF AnswersNil(s) THEN "freed" ELSE "not held")
                  /\ IF Ours(s) THEN sv' = [sv EXCEPT ![s] = Empty] /\ UNCHANGED missed
                     ELSE missed' = TRUE /\ UNCHANGED sv
                  /\ UNCHANGED <<now, call, fails, ran>>
\* The client gets the answer: Release returns nil or ErrNotHeld, or the owner is settled.
Freed(m) == /\ Got(m, {"freed", "not held"}) /\ UNCHANGED <<now, sv, fails, ran, missed>>
            /\ CASE Is("releases") -> Set(IF m.k = "freed" THEN "nil" ELSE "lost")
                 [] Is("left") /\ (m.k = "freed" \/ Settles) -> Set("settled")
                 [] OTHER -> UNCHANGED call
\* Another caller gets the lock of the primary, or releases it.
Other == /\ \/ /\ Free("primary") /\ sv' = [sv EXCEPT !.primary = [o |-> "other", exp |-> now + Lease]]
               /\ missed' = (missed \/ \E s \in Up : sv[s].o = "us")
            \/ sv.primary.o = "other" /\ sv' = [sv EXCEPT !.primary = Empty] /\ UNCHANGED missed
         /\ UNCHANGED <<now, call, net, fails, ran>>
\* A replica that has everything, or nothing, is promoted. The former primary goes on.
Fail == /\ fails < MaxFail /\ fails' = fails + 1
        /\ \E s \in {sv.primary, Empty} : sv' = [primary |-> s, former |-> sv.primary]
        /\ UNCHANGED <<now, call, net, ran, missed>>
Tick == /\ now < MaxTime /\ now' = now + 1 /\ net' = {m \in net : m.s + Delay >= now'}
        /\ UNCHANGED <<sv, call, fails, ran, missed>>
Next == \/ Ask \/ Refuse \/ Again \/ Renew \/ Cancel \/ Leave \/ Release \/ Other \/ Fail \/ Tick
        \/ \E m \in net : Granted(m) \/ Busy(m) \/ Confirm(m) \/ Freed(m)
        \/ \E s \in Up, m \in net : Acquire(s, m) \/ Renewed(s, m) \/ Released(s, m)
Spec == Init /\ [][Next]_vars
-----------------------------------------------------------------------------
\* A settled owner does not have the lock, and one whose caller left has it for no longer than a lease after its last
\* request.
NothingHeld == \A s \in Up : Ours(s) => /\ call.st \notin {"settled", "refused"}
                                        /\ call.st \in {"late", "left"} => now < call.left + Delay + Lease
\* The acquire does not run twice. It does not run if Lock returned another error than ErrIndeterminate.
AtMostOnce == ran <= (IF Is("refused") THEN 0 ELSE 1)
\* If Release has returned nil, the owner had held the lock until then.
NilIsTrue == Is("nil") => ~missed
=============================================================================
