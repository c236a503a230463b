------------------------------- MODULE Adopt -------------------------------
(* A PlainLock that is handed on: the holder calls Lease.Forget and sends its owner to others, of whom one adopts it.   *)
(* The scripts are plain_*.lua and mutex_renew.lua of primitives/internal/script.                                       *)
(*                                                                                                                      *)
(* Each request and answer comes at any time, in any order, or never. An acquire and an adoption have an owner each,    *)
(* the number of the call. Anybody who got an owner may adopt it, at any time, and a driver may send that again.        *)
(*                                                                                                                      *)
(*    Promise of PlainLock.Adopt                                   configuration               result                   *)
(*    One caller adopts an owner, and holds the lock alone; late   adopt                       holds                    *)
(*      renewals and releases of the former holder do nothing                                                           *)
(*      if the former holder does not call Forget                  adopt_unforgotten           two holders              *)
(*    Four planted bugs (module PlantedAdopt) are found            planted_adopt_...           each violates one        *)
(*                                                                                                                      *)
(* This module leaves out clocks and failovers, which module Lease has, and how a client releases what nobody holds,    *)
(* which module Calls has. A client that has sent its owner on may adopt, too: so two may. Bounds: two clients, three   *)
(* calls, three ticks; a lease is two ticks.                                                                            *)
EXTENDS Naturals, FiniteSets, TLC
CONSTANTS C,             \* the clients
          Lease,         \* the ticks that a grant or a renewal lasts
          MaxTime,       \* the last tick
          MaxCalls,      \* the number of calls of Lock and Adopt
          Forgets        \* does a holder call Forget before it sends its owner on?
VARIABLES now,           \* the time
          key,           \* the owner at the key, and its expiry
          cl,            \* the clients
          net,           \* what is under way
          calls,         \* how many calls there were
          sent,          \* the owners that were sent on
          took           \* the owners that were adopted, each with the call that was told so
vars == <<now, key, cl, net, calls, sent, took>>

\* A client: what it does; the owner of its call, and the owner that it adopts, 0 for an acquire; when it sent the call;
\* until when it trusts its hold; whether a renewal is under way.
Idle == [st |-> "idle", o |-> 0, f |-> 0, at |-> 0, until |-> 0, ren |-> FALSE]
Init == /\ now = 1 /\ key = [o |-> 0, exp |-> 0] /\ cl = [c \in C |-> Idle] /\ net = {} /\ calls = 0 /\ sent = {}
        /\ took = {}

Held(o) == key.o = o /\ now < key.exp
Free == now >= key.exp
Trusts(c) == cl[c].st = "held" /\ now < cl[c].until        \* Lease.Err returns nil
Set(c, rec) == cl' = [cl EXCEPT ![c] = rec]
Packet(kind, o, f, at) == [k |-> kind, o |-> o, f |-> f, at |-> at]
Send(kind, o, f, at) == net' = net \cup {Packet(kind, o, f, at)}
Answer(m, kind) == net' = (net \ {m}) \cup {[m EXCEPT !.k = kind]}
Grant(o) == key' = [o |-> o, exp |-> now + Lease]

\* Configurations replace these to plant bugs.
NewOwner(former) == calls + 1                              \* of a call of Adopt
MayTake(former) == Held(former)                            \* Does plain_adopt exchange this owner?
IsAgain(o) == Held(o)                                      \* Is it a call that was executed before?
Begin(c) == cl[c].at                                       \* When does the client's hold begin?

-----------------------------------------------------------------------------
\* Lock and Adopt send plain_set and plain_adopt.
Ask(c, f) == /\ cl[c].st = "idle" /\ calls < MaxCalls /\ calls' = calls + 1
             /\ LET o == IF f = 0 THEN calls + 1 ELSE NewOwner(f) IN
                /\ Set(c, [Idle EXCEPT !.st = "asked", !.o = o, !.f = f, !.at = now])
                /\ Send(IF f = 0 THEN "acquire" ELSE "adopt", o, f, now)
             /\ UNCHANGED <<now, key, sent, took>>
\* A driver sends the adoption again.
Again(c) == /\ cl[c].st = "asked" /\ cl[c].f /= 0 /\ Send("adopt", cl[c].o, cl[c].f, cl[c].at)
            /\ UNCHANGED <<now, key, cl, calls, sent, took>>
\* The server runs the scripts.
Acquire(m) == /\ m.k = "acquire"
              /\ IF Free THEN Grant(m.o) /\ Answer(m, "granted") ELSE UNCHANGED key /\ Answer(m, "refused")
              /\ UNCHANGED <<now, cl, calls, sent, took>>
AdoptRuns(m) == /\ m.k = "adopt"
                /\ IF MayTake(m.f) THEN Grant(m.o) /\ Answer(m, "granted")
                   ELSE UNCHANGED key /\ Answer(m, IF IsAgain(m.o) THEN "granted" ELSE "refused")
                /\ UNCHANGED <<now, cl, calls, sent, took>>
Renewal(m) == /\ m.k = "renew"
              /\ IF Held(m.o) THEN Grant(m.o) /\ Answer(m, "renewed") ELSE UNCHANGED key /\ net' = net \ {m}
              /\ UNCHANGED <<now, cl, calls, sent, took>>
Release(m) == /\ m.k = "release" /\ Held(m.o) /\ key' = [o |-> 0, exp |-> 0]
              /\ UNCHANGED <<now, cl, net, calls, sent, took>>  \* It may come again.
\* The client gets an answer: to its call, or to a renewal. One that belongs to an earlier call is dropped.
Get(c, m) == /\ m.k \in {"granted", "refused", "renewed"} /\ cl[c].o = m.o /\ net' = net \ {m}
             /\ CASE m.k = "granted" /\ cl[c].st = "asked" ->
                       Set(c, [cl[c] EXCEPT !.st = "held", !.until = Begin(c) + Lease])
                  [] m.k = "refused" /\ cl[c].st = "asked" -> Set(c, Idle)
                  [] m.k = "renewed" /\ Trusts(c) -> Set(c, [cl[c] EXCEPT !.until = m.at + Lease, !.ren = FALSE])
                  [] OTHER -> UNCHANGED cl
             /\ took' = took \cup IF m.k = "granted" /\ m.f /= 0 THEN {<<m.f, m.o>>} ELSE {}
             /\ UNCHANGED <<now, key, calls, sent>>
\* The watchdog sends mutex_renew.
Renew(c) == /\ Trusts(c) /\ ~cl[c].ren /\ Set(c, [cl[c] EXCEPT !.ren = TRUE]) /\ Send("renew", cl[c].o, 0, now)
            /\ UNCHANGED <<now, key, calls, sent, took>>
\* The holder calls Release, sees its loss, or the caller of Lock or Adopt leaves: the client sends plain_release.
Leave(c) == /\ cl[c].st \in {"asked", "held"} /\ Set(c, Idle) /\ Send("release", cl[c].o, 0, 0)
            /\ UNCHANGED <<now, key, calls, sent, took>>
\* The holder calls Forget.
Forget(c) == /\ Forgets /\ Trusts(c) /\ Set(c, [cl[c] EXCEPT !.st = "forgot"])
             /\ UNCHANGED <<now, key, net, calls, sent, took>>
\* It sends its owner on.
SendOn(c) == /\ \/ cl[c].st = "forgot" /\ Set(c, Idle)
                \/ ~Forgets /\ Trusts(c) /\ UNCHANGED cl
             /\ sent' = sent \cup {cl[c].o} /\ UNCHANGED <<now, key, net, calls, took>>
\* It crashes before, and another process begins. Other crashes are as a Leave whose release never arrives.
Crash(c) == /\ cl[c].st = "forgot" /\ Set(c, Idle) /\ UNCHANGED <<now, key, net, calls, sent, took>>
Tick == /\ now < MaxTime /\ now' = now + 1 /\ UNCHANGED <<key, cl, net, calls, sent, took>>
Next == \/ Tick
        \/ \E c \in C : Again(c) \/ Renew(c) \/ Leave(c) \/ Forget(c) \/ SendOn(c) \/ Crash(c)
        \/ \E c \in C, f \in {0} \cup sent : Ask(c, f)
        \/ \E m \in net : Acquire(m) \/ AdoptRuns(m) \/ Renewal(m) \/ Release(m)
        \/ \E c \in C, m \in net : Get(c, m)
Spec == Init /\ [][Next]_vars
-----------------------------------------------------------------------------
\* One client at a time trusts its hold.
OneHolder == \A c, d \in C : c /= d => ~(Trusts(c) /\ Trusts(d))
\* What a client trusts is so on the server: nothing that is late ends a hold, or cuts it.
TrueHold == \A c \in C : Trusts(c) => Held(cl[c].o) /\ cl[c].until <= key.exp
\* One call adopts an owner.
AdoptedOnce == \A a, b \in took : a[1] = b[1] => a = b
Sym == Permutations(C)
=============================================================================
