------------------------------- MODULE Mutex -------------------------------
(* The hand-over of a Mutex: a release grants it to the first waiter of the queue that is not silent, and sends a       *)
(* message to that waiter alone. docs/internals/mutex.md describes the protocol. The scripts are mutex_*.lua of         *)
(* primitives/internal/script, and the clients' part is primitives/internal/line.                                       *)
(*                                                                                                                      *)
(* Time is counted in ticks. A heartbeat counts for Worth: three ticks (with Replicas two). A waiter is silent after    *)
(* two, and one that runs sends one in each tick. A server's clock may be ahead by up to SkewS ticks, each by another   *)
(* amount, and anybody may set it within that bound. A client's clock loses MaxSkew ticks in a lease: if it loses less, *)
(* the client only ends its lease earlier.                                                                              *)
(*                                                                                                                      *)
(* There are two ways to check it. Without Prompt, each request, answer and message comes at any time, in any order, or *)
(* never: at most one owner may trust its hold. With Prompt, what is sent comes in the same tick unless it is lost, and *)
(* owners may crash: the mutex must not stay unused for more than MaxIdle ticks while a waiter that runs wants it.      *)
(*                                                                                                                      *)
(*    Promise or exception of docs/guarantees.md                   configuration               result                   *)
(*    A holder learns of its loss first; clocks within ClockDrift  mutex                       holds                    *)
(*      a client's clock loses more                                mutex_client_slower         two holders              *)
(*      the server's clock is set within ClockDrift                mutex_server_set            holds                    *)
(*      the server's clock is set by more than that                mutex_server_set_far        two holders              *)
(*    Exception 3, a failover                                      mutex_failover              two holders              *)
(*      with Replicas                                              mutex_replicas              holds                    *)
(*    A lost message costs at most Worth                           mutex_message               holds                    *)
(*      more than a heartbeat if it was to an owner that has left  mutex_message_late          unused for longer        *)
(*    A crash costs at most a lease, or Worth                      mutex_crash                 holds                    *)
(*      and another crash as much again                            mutex_crashes               unused for longer        *)
(*    Planted bugs (module PlantedMutex) are found                 planted_mutex_...           each violates one        *)
(*                                                                                                                      *)
(* This module leaves out: renewals, which module Lease has, but for the first one with Replicas; TryLock, ForceUnlock, *)
(* tokens, the place that a waiter returns to after it was silent, the loss of all keys, and the former primary, which  *)
(* module Lease has. A later request or grant of an owner replaces an earlier one of the same kind. Bounds: two owners  *)
(* without Prompt and three with it, four to eight ticks (with Replicas two, so no lease ends), one failover, one lost  *)
(* message, two crashes.                                                                                                *)
EXTENDS Naturals, Sequences, FiniteSets, TLC
CONSTANTS O,             \* the owners: a call of Lock each. Once nothing has its name, an owner is a new call's
          NoOwner,       \* none of them
          Lease,         \* the ticks that an acquire or a renewal grants
          Worth,         \* the ticks for which a heartbeat counts, and a grant by a release lasts: W of mutex.md
          Drift,         \* how many ticks earlier the client ends its lease: Options.ClockDrift
          MaxSkew,       \* the ticks that clients' clocks really lose
          SkewS,         \* the ticks by which a server's clock may be ahead
          MaxTime,       \* the last tick
          MaxFail,       \* the number of failovers
          Wait,          \* does a grant count only after the replica has it? LockOptions.Replicas
          Prompt,        \* does everything that is sent arrive in the same tick?
          Lost,          \* how many messages about grants may be lost then
          Crashes,       \* how many owners may crash then
          MaxIdle        \* the ticks for which the mutex may stay unused then
VARIABLES now,           \* the time
          p, r,          \* the primary, and its replica
          cl,            \* the owners
          net,           \* what is under way
          fails, lost, crashes,   \* how many of each there were
          idle           \* for how many ticks no owner that runs has used the mutex, although one has waited
vars == <<now, p, r, cl, net, fails, lost, crashes, idle>>

Max(a, b) == IF a > b THEN a ELSE b
Offsets == 0..SkewS
\* A server: the holder, the expiry of its key, the queue, and how far the server's clock is ahead. The queue has each
\* waiter's owner, the arrival of its last heartbeat by the server's clock, and that heartbeat's stamp: its sending.
Empty == [o |-> NoOwner, exp |-> 0, q |-> <<>>, off |-> 0]
\* An owner: its state; when it sent its request or its last heartbeat; until when it trusts its hold.
Idle == [st |-> "idle", sent |-> 0, until |-> 0]

Init == /\ now = 1 /\ cl = [o \in O |-> Idle] /\ net = {} /\ fails = 0 /\ lost = 0 /\ crashes = 0 /\ idle = 0
        /\ p \in {[Empty EXCEPT !.off = f] : f \in Offsets}
        /\ r \in {[Empty EXCEPT !.off = f] : f \in IF MaxFail = 0 THEN {0} ELSE Offsets}

Clock(s) == now + s.off
Held(s) == s.o /= NoOwner /\ Clock(s) < s.exp
Age(s, w) == IF Clock(s) > w.at THEN Clock(s) - w.at ELSE 0
Active(s, w) == 3 * Age(s, w) < 2 * Worth                  \* worth of mutex.lua
Actives(s) == {i \in DOMAIN s.q : Active(s, s.q[i])}
First(s) == CHOOSE i \in Actives(s) : \A j \in Actives(s) : i <= j
Behind(s) == SubSeq(s.q, First(s) + 1, Len(s.q))
\* The end of the hold that a release grants to a waiter: that of its heartbeat.
HoldEnd(s, w) == Clock(s) + Worth - Age(s, w)
\* When the client's hold begins, of a grant for the heartbeat with that stamp.
Begin(o, stamp) == stamp
End(sent, length) == sent + length - Drift + MaxSkew
Trusts(o) == cl[o].st = "held" /\ now < cl[o].until        \* Lease.Err returns nil
Waits(o) == cl[o].st = "waits"
Queued(s, o) == \E i \in DOMAIN s.q : s.q[i].o = o
Gone(o) == cl[o].st = "idle" \/ (/\ cl[o].st = "left" /\ \A m \in net : m.o /= o
                                 /\ \A s \in {p, r} : s.o /= o /\ ~Queued(s, o))
Set(o, rec) == cl' = [cl EXCEPT ![o] = rec]

Packet(kind, o, sent, exp) == [k |-> kind, o |-> o, s |-> sent, e |-> exp]
Class(kind) == CASE kind = "beat" -> "ask" [] kind = "status" -> "grant" [] OTHER -> kind
\* What is under way once these are sent.
With(sent) == {m \in net : \A d \in sent : m.o /= d.o \/ Class(m.k) /= Class(d.k)} \cup sent
Then(m, sent) == net' = With(sent) \ {m}
Send(kind, o) == net' = With({Packet(kind, o, now, 0)})

\* pass of mutex.lua: what the server becomes, and the message that it sends.
Passed(s) == IF Actives(s) = {} THEN [s EXCEPT !.o = NoOwner, !.exp = 0, !.q = <<>>]
             ELSE LET w == s.q[First(s)] IN [s EXCEPT !.o = w.o, !.exp = HoldEnd(s, w), !.q = Behind(s)]
Message(s) == IF Actives(s) = {} THEN {} ELSE LET w == s.q[First(s)] IN {Packet("grant", w.o, w.stamp, 0)}
Raised(s, length) == [s EXCEPT !.exp = Max(@, Clock(s) + length)]
Queue(s, o, stamp) == [s EXCEPT !.q = Append(SelectSeq(@, LAMBDA w : w.o /= o),
                                             [o |-> o, at |-> Clock(s), stamp |-> stamp])]
Enqueued(o) == IF cl[o].st = "asked" THEN Set(o, [cl[o] EXCEPT !.st = "waits"]) ELSE UNCHANGED cl

-----------------------------------------------------------------------------
\* Mutex.Lock sends mutex_acquire.lua. So does a waiter that has lost its place.
Ask(o) == /\ \/ Gone(o) /\ Set(o, [Idle EXCEPT !.st = "asked", !.sent = now])
             \/ Waits(o) /\ ~Queued(p, o) /\ p.o /= o /\ cl[o].sent < now /\ Set(o, [cl[o] EXCEPT !.sent = now])
          /\ Send("ask", o) /\ UNCHANGED <<now, p, r, fails, lost, crashes, idle>>
\* The primary runs it.
Asked(m) == LET o == m.o
                Granted(s) == p' = s /\ Then(m, {Packet("ans", o, m.s, s.exp)}) /\ UNCHANGED cl
                before == Actives(p) /= {} /\ p.q[First(p)].o /= o
            IN /\ m.k = "ask"
               /\ \/ Held(p) /\ p.o = o /\ Granted(Raised(p, Lease))
                  \/ Held(p) /\ p.o /= o /\ p' = Queue(p, o, m.s) /\ Then(m, {}) /\ Enqueued(o)
                  \/ ~Held(p) /\ before /\ p' = Queue(Passed(p), o, m.s) /\ Then(m, Message(p)) /\ Enqueued(o)
                  \/ /\ ~Held(p) /\ ~before
                     /\ Granted([p EXCEPT !.o = o, !.exp = Clock(p) + Lease,
                                          !.q = IF Actives(p) = {} THEN <<>> ELSE Behind(p)])
               /\ UNCHANGED <<now, r, fails, lost, crashes, idle>>
\* A waiter sends a heartbeat: mutex_beat.lua.
Beat(o) == /\ Waits(o) /\ cl[o].sent < now /\ Set(o, [cl[o] EXCEPT !.sent = now])
           /\ Send("beat", o) /\ UNCHANGED <<now, p, r, fails, lost, crashes, idle>>
\* The primary notes the heartbeat, and grants a free mutex. If the owner has the mutex, the answer says so.
Beaten(m) == LET o == m.o
                 noted == [p EXCEPT !.q = [i \in DOMAIN @ |-> IF @[i].o /= o THEN @[i] ELSE
                                                              [o |-> o, at |-> Clock(p), stamp |-> m.s]]]
                 s == IF Held(p) THEN noted ELSE Passed(noted)
             IN /\ m.k = "beat" /\ UNCHANGED <<now, r, cl, fails, lost, crashes, idle>>
                /\ IF s.o = o THEN p' = Raised(s, Worth) /\ Then(m, {Packet("status", o, m.s, 0)})
                   ELSE p' = s /\ Then(m, IF Held(p) THEN {} ELSE Message(noted))
\* The waiter's client gets the message about a grant, or the answer to a heartbeat that says so. The grant lasts from
\* that heartbeat's sending on. With Replicas, the client renews it first. The client of an owner that has left releases
\* the mutex.
Take(m) == LET o == m.o
               until == End(Begin(o, m.s), Worth)
           IN /\ m.k \in {"grant", "status"} /\ UNCHANGED <<now, p, r, fails, lost, crashes, idle>>
              /\ CASE Waits(o) /\ ~Wait ->
                        /\ Then(m, {})
                        /\ IF until > now THEN Set(o, [st |-> "held", sent |-> 0, until |-> until]) ELSE UNCHANGED cl
                   [] Waits(o) /\ Wait -> UNCHANGED cl /\ Then(m, {Packet("renew", o, now, 0)})
                   [] cl[o].st = "left" -> UNCHANGED cl /\ Then(m, {Packet("release", o, 0, 0)})
                   [] OTHER -> UNCHANGED cl /\ Then(m, {})
\* The primary runs mutex_renew.lua.
Renewed(m) == /\ m.k = "renew" /\ UNCHANGED <<now, r, cl, fails, lost, crashes, idle>>
              /\ IF ~Held(p) \/ p.o /= m.o THEN p' = p /\ Then(m, {})
                 ELSE p' = [p EXCEPT !.exp = Clock(p) + Lease] /\ Then(m, {Packet("ans", m.o, m.s, p'.exp)})
\* The client gets the answer to an acquire or a renewal; with Replicas only if the replica has it.
Answer(m) == LET o == m.o
                 until == Max(cl[o].until, End(m.s, Lease))
             IN /\ m.k = "ans" /\ (Wait => r.o = o /\ r.exp >= m.e)
                /\ UNCHANGED <<now, p, r, fails, lost, crashes, idle>>
                /\ CASE (cl[o].st \in {"asked", "waits"} \/ Trusts(o)) /\ now < until ->
                          Then(m, {}) /\ Set(o, [st |-> "held", sent |-> 0, until |-> until])
                     [] cl[o].st = "left" -> UNCHANGED cl /\ Then(m, {Packet("release", o, 0, 0)})
                     [] OTHER -> UNCHANGED cl /\ Then(m, {})
\* Lease.Release, the end of Lock's context, or a lost hold.
Leave(o) == /\ cl[o].st \in {"asked", "waits", "held"} /\ Set(o, [Idle EXCEPT !.st = "left"])
            /\ net' = With({Packet("release", o, 0, 0)}) /\ UNCHANGED <<now, p, r, fails, lost, crashes, idle>>
\* The primary runs mutex_release.lua.
Released(m) == LET s == [p EXCEPT !.q = SelectSeq(@, LAMBDA w : w.o /= m.o)] IN
               /\ m.k = "release" /\ UNCHANGED <<now, r, cl, fails, lost, crashes, idle>>
               /\ IF Held(p) /\ p.o /= m.o THEN p' = s /\ Then(m, {}) ELSE p' = Passed(s) /\ Then(m, Message(s))

Lose(m) == /\ lost < Lost /\ m.k = "grant" /\ Then(m, {}) /\ lost' = lost + 1
           /\ UNCHANGED <<now, p, r, cl, fails, crashes, idle>>
Crash(o) == /\ crashes < Crashes /\ cl[o].st \in {"waits", "held"} /\ Set(o, [Idle EXCEPT !.st = "crashed"])
            /\ crashes' = crashes + 1 /\ UNCHANGED <<now, p, r, net, fails, lost, idle>>
Sync == /\ MaxFail > 0 /\ r' = [p EXCEPT !.off = r.off] /\ r' /= r
        /\ UNCHANGED <<now, p, cl, net, fails, lost, crashes, idle>>
Fail == /\ fails < MaxFail /\ p' = r /\ fails' = fails + 1
        /\ UNCHANGED <<now, r, cl, net, lost, crashes, idle>>
SetClock == /\ \E f \in Offsets \ {p.off} : p' = [p EXCEPT !.off = f]
            /\ UNCHANGED <<now, r, cl, net, fails, lost, crashes, idle>>
Tick == /\ now < MaxTime /\ now' = now + 1
        /\ Prompt => net = {} /\ \A o \in O : Waits(o) => cl[o].sent = now
        /\ idle' = IF Prompt /\ (\E o \in O : Waits(o)) /\ ~\E o \in O : Trusts(o) THEN idle + 1 ELSE 0
        /\ UNCHANGED <<p, r, cl, net, fails, lost, crashes>>
Next == \/ Sync \/ Fail \/ SetClock \/ Tick
        \/ \E o \in O : Ask(o) \/ Beat(o) \/ Leave(o) \/ Crash(o)
        \/ \E m \in net : Asked(m) \/ Beaten(m) \/ Take(m) \/ Renewed(m) \/ Answer(m) \/ Released(m) \/ Lose(m)
Spec == Init /\ [][Next]_vars
-----------------------------------------------------------------------------
\* At most one owner trusts its hold.
OneHolder == \A o, d \in O : o /= d => ~(Trusts(o) /\ Trusts(d))
\* The mutex does not stay unused for longer while a waiter that runs wants it.
SoonUsed == idle <= MaxIdle
Sym == Permutations(O)
=============================================================================
