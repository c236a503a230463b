------------------------------- MODULE Lease -------------------------------
(* A lock with leases: clients, a primary server and its replica, a failover, pauses of processes, and a resource that  *)
(* checks fencing tokens. "make spec" has TLC check every configuration of this folder. A configuration's first lines   *)
(* say which promise of docs/guarantees.md it is about, and the result that TLC must have.                              *)
(*                                                                                                                      *)
(* Time is counted in ticks. A lease is two ticks, so a tick stands for half a lease. A server's clock may be ahead of  *)
(* the time by up to SkewS ticks, each server's by another amount, and anybody may set it within that bound. A client's *)
(* clock may lose up to MaxSkew ticks in a lease.                                                                       *)
(*                                                                                                                      *)
(*    Promise or exception of docs/guarantees.md                   configuration               result                   *)
(*    A holder learns of its loss first. Slow clients' clocks      client_slow                 holds                    *)
(*      beyond ClockDrift                                          client_slower               two holders              *)
(*    Exception 1, a pause                                         pause                       a stale write            *)
(*      with tokens (Fencing)                                      pause_fenced                holds                    *)
(*    Exception 2, the key is gone (DeleteKey of module Planted)   key_gone                    two holders              *)
(*    Exception 3, a failover                                      failover                    two holders              *)
(*      if only grants waited; while the former primary answers    replicas, replicas_former   two holders              *)
(*      with Replicas: renewals wait for the replica, too          replicas_renewals           holds                    *)
(*      and the promoted server's clock is ahead                   replicas_clocks             holds                    *)
(*      beyond ClockDrift                                          replicas_clocks_far         two holders              *)
(*    Exception 4, the server's clock is set: within ClockDrift    server_set                  holds                    *)
(*      beyond ClockDrift                                          server_set_far              two holders              *)
(*      by ClockDrift, and a client's clock loses as much          both_clocks                 two holders              *)
(*    Tokens rise if a failover takes longer than clocks differ    failover_fenced             holds                    *)
(*      if it does not                                             failover_clocks             a token is used again    *)
(*      with a counter, as other libraries have it                 failover_counter            a token is used again    *)
(*    Four planted bugs (module Planted) are found                 planted_...                 each violates one        *)
(*                                                                                                                      *)
(* This module leaves out: a second replica (which module TwoReplicas adds), TokenTTL and MaxHold; a client that renews *)
(* before it knows of the grant, or again before the last renewal is answered. Modules Mutex and RedLock have those     *)
(* two. A lost message is an action that never happens. Bounds: two clients, two grants, five ticks (four in            *)
(* replicas_clocks), one failover.                                                                                      *)
(*                                                                                                                      *)
(* hasptest/primitives has the same actions in Go. Its tests compare the number of states with TLC's, and check that    *)
(* what real clients do with a lock, in virtual time, is a behaviour of this module (TestTraces).                       *)
EXTENDS Naturals, FiniteSets, TLC
CONSTANTS C,             \* the clients
          Lease,         \* the ticks that a grant lasts unless the client renews it
          Drift,         \* how many ticks earlier the client ends its lease: Options.ClockDrift
          MaxSkew,       \* the ticks that a client's clock may really lose
          SkewS,         \* the ticks by which a server's clock may be ahead
          MaxTime,       \* the last tick
          MaxFail,       \* the number of failovers
          FailTime,      \* the ticks that a failover takes at least
          MaxGrants,     \* the number of grants
          Renews,        \* does the watchdog renew leases? With LockOptions.Lease it does not
          Works,         \* do holders work on a resource?
          Pauses,        \* may a process stop between its look at the lease and its write?
          ClockTokens,   \* are tokens made of the server's clock, as hasp's are, or are they a plain counter?
          Fencing,       \* does the resource check tokens?
          Wait,          \* does a grant count only after the replica has it? LockOptions.Replicas
          WaitRenew,     \* does a renewal count only after the replica has it?
          Zombie         \* may the former primary go on answering renewals?
VARIABLES now,           \* the time
          p, r, z,       \* the primary, its replica, and the former primary
          cl,            \* the clients
          res,           \* the resource
          fails,         \* how many failovers there were
          grants,        \* how many grants there were; a grant's number is its owner's name, which is used once
          top, rises     \* the highest token of all grants, and whether each grant's token was the highest so far
vars == <<now, p, r, z, cl, res, fails, grants, top, rises>>

Max(a, b) == IF a > b THEN a ELSE b
Skew == 0..MaxSkew
Offsets == 0..SkewS
NoOwner == 0
\* A server: the lock's owner, the expiry of its key by the server's clock, the last token, how far its clock is ahead.
Empty == [owner |-> NoOwner, exp |-> 0, last |-> 0, off |-> 0]
\* A client: what it does; when it sent its request; until when it believes in its lease; its grant's token and number;
\* when it sent the renewal that is under way, and the expiry that a server has answered, if any; whether the answer is
\* from the former primary; how far its work on the resource is.
Idle == [st |-> "idle", sent |-> 0, until |-> 0, tok |-> 0, g |-> 0, ren |-> 0, exp |-> 0, former |-> FALSE,
         work |-> "none"]

Init == /\ now = 1 /\ z = Empty /\ fails = 0 /\ grants = 0 /\ top = 0 /\ rises = TRUE
        /\ p \in {[Empty EXCEPT !.off = o] : o \in Offsets}
        /\ r \in {[Empty EXCEPT !.off = o] : o \in IF MaxFail = 0 THEN {0} ELSE Offsets}
        /\ cl = [c \in C |-> Idle]
        /\ res = [fence |-> 0, g |-> 0, stale |-> FALSE, refused |-> FALSE]

Clock(s) == now + s.off
Expired(s) == Clock(s) >= s.exp
Free(s) == s.owner = NoOwner \/ Expired(s)
\* A tick has more microseconds than there are grants, so the tokens of one tick do not reach into the next.
Micros(s) == Clock(s) * (MaxGrants + 1)
\* token_at of primitives/internal/script/token.lua.
NextToken(s) == IF ClockTokens THEN Max(Micros(s), s.last + 1) ELSE s.last + 1
\* The client's end of a lease, whose request it sent at that time: validFor of primitives/internal/renew/entry.go.
End(sent, lost) == sent + Lease - Drift + lost
SentAt(c) == cl[c].sent
Believes(c) == cl[c].st = "held" /\ now < cl[c].until    \* Lease.Err returns nil
FenceIsOurs(c) == res.fence = cl[c].tok
Set(c, rec) == cl' = [cl EXCEPT ![c] = rec]
\* Have enough replicas acknowledged the client's grant, and its renewal?
GrantKept(c) == r.owner = cl[c].g
RenewalKept(c) == r.owner = cl[c].g /\ r.exp >= cl[c].exp
Running == Pauses \/ \A c \in C : cl[c].work = "none"    \* Time does not pass within the work of a running process.

-----------------------------------------------------------------------------
\* Lock.Lock: the client sends lock_acquire.lua.
Ask(c) == /\ cl[c].st = "idle" /\ grants < MaxGrants /\ Set(c, [Idle EXCEPT !.st = "asked", !.sent = now])
          /\ UNCHANGED <<now, p, r, z, res, fails, grants, top, rises>>
\* The primary runs lock_acquire.lua, and the lock is free.
Grant(c) == /\ cl[c].st = "asked" /\ Free(p) /\ grants < MaxGrants
            /\ LET t == NextToken(p) IN
               /\ grants' = grants + 1
               /\ p' = [p EXCEPT !.owner = grants', !.exp = Clock(p) + Lease, !.last = t]
               /\ Set(c, [cl[c] EXCEPT !.st = "granted", !.tok = t, !.g = grants'])
               /\ top' = Max(top, t) /\ rises' = (rises /\ t > top)
            /\ UNCHANGED <<now, r, z, res, fails>>
\* Lock returns the lease; with Replicas, backend.ReplicaWaiter's RunThenWait has counted the replica.
Reply(c) == /\ cl[c].st = "granted" /\ (Wait => GrantKept(c))
            /\ \E lost \in Skew : Set(c, [cl[c] EXCEPT !.st = "held", !.until = End(SentAt(c), lost)])
            /\ UNCHANGED <<now, p, r, z, res, fails, grants, top, rises>>
\* The watchdog (primitives/internal/renew) sends a renewal.
Renew(c) == /\ Renews /\ Believes(c) /\ cl[c].ren = 0 /\ Set(c, [cl[c] EXCEPT !.ren = now])
            /\ UNCHANGED <<now, p, r, z, res, fails, grants, top, rises>>
\* The primary runs lock_renew.lua, and the owner still has the lock.
Renewed(c) == /\ cl[c].ren > 0 /\ cl[c].exp = 0 /\ p.owner = cl[c].g /\ ~Expired(p)
              /\ p' = [p EXCEPT !.exp = Clock(p) + Lease] /\ Set(c, [cl[c] EXCEPT !.exp = p'.exp])
              /\ UNCHANGED <<now, r, z, res, fails, grants, top, rises>>
\* The former primary, which the client still reaches, does the same.
RenewedByFormer(c) ==
              /\ cl[c].ren > 0 /\ cl[c].exp = 0 /\ z.owner = cl[c].g /\ ~Expired(z)
              /\ z' = [z EXCEPT !.exp = Clock(z) + Lease] /\ Set(c, [cl[c] EXCEPT !.exp = z'.exp, !.former = TRUE])
              /\ UNCHANGED <<now, p, r, res, fails, grants, top, rises>>
\* The watchdog gets the answer in time, and moves the end of the lease. No replica follows the former primary.
Confirm(c) == /\ cl[c].exp > 0 /\ Believes(c)
              /\ (WaitRenew => ~cl[c].former /\ RenewalKept(c))
              /\ \E lost \in Skew : Set(c, [cl[c] EXCEPT !.ren = 0, !.exp = 0, !.former = FALSE,
                                                          !.until = Max(@, End(cl[c].ren, lost))])
              /\ UNCHANGED <<now, p, r, z, res, fails, grants, top, rises>>
\* From now on nobody trusts the lease: the holder calls Lease.Release, or sees that the lease is lost (Lease.Done or
\* Lease.Err), or the caller left before the answer. The client sends a release, which may arrive late or never.
Leave(c) == /\ cl[c].st \in {"granted", "held"} /\ cl[c].work = "none" /\ Set(c, Idle)
            /\ UNCHANGED <<now, p, r, z, res, fails, grants, top, rises>>
\* The primary runs lock_release.lua, for a grant that nobody trusts.
Released == /\ p.owner /= NoOwner /\ \A c \in C : cl[c].g = p.owner => cl[c].st = "held" /\ ~Believes(c)
            /\ p' = [p EXCEPT !.owner = NoOwner, !.exp = 0]
            /\ UNCHANGED <<now, r, z, cl, res, fails, grants, top, rises>>

\* The holder asks Lease.Err before it works on the resource.
Look(c) == /\ Works /\ Believes(c) /\ cl[c].work = "none" /\ Set(c, [cl[c] EXCEPT !.work = "looked"])
           /\ UNCHANGED <<now, p, r, z, res, fails, grants, top, rises>>
\* The holder claims the row with its token, and reads it: ClaimInSQL and ClaimInRedis of examples/fencing.
Read(c) == /\ cl[c].work = "looked"
           /\ IF Fencing /\ res.fence > cl[c].tok
              THEN /\ res' = [res EXCEPT !.refused = @ \/ cl[c].g > res.g] /\ Set(c, [cl[c] EXCEPT !.work = "none"])
              ELSE /\ res' = [res EXCEPT !.fence = cl[c].tok, !.g = Max(@, cl[c].g)]
                   /\ Set(c, [cl[c] EXCEPT !.work = "read"])
           /\ UNCHANGED <<now, p, r, z, fails, grants, top, rises>>
\* The holder writes the row: SetInSQL and SetInRedis. The row refuses the write unless the holder's claim is the last.
Write(c) == /\ cl[c].work = "read" /\ Set(c, [cl[c] EXCEPT !.work = "none"])
            /\ res' = IF Fencing /\ ~FenceIsOurs(c) THEN res ELSE [res EXCEPT !.stale = @ \/ cl[c].g < res.g]
            /\ UNCHANGED <<now, p, r, z, fails, grants, top, rises>>

\* The replica has caught up with the primary. It keeps expiries by the primary's clock, and compares them with its own.
Sync == /\ MaxFail > 0 /\ r' = [p EXCEPT !.off = r.off] /\ r' /= r
        /\ UNCHANGED <<now, p, z, cl, res, fails, grants, top, rises>>
\* The replica is promoted; a new one copies it, which has its clock.
Fail == /\ fails < MaxFail /\ now + FailTime <= MaxTime /\ Running
        /\ p' = r /\ z' = (IF Zombie THEN p ELSE z) /\ fails' = fails + 1 /\ now' = now + FailTime
        /\ UNCHANGED <<r, cl, res, grants, top, rises>>
\* Somebody sets the primary's clock.
SetClock == /\ \E o \in Offsets \ {p.off} : p' = [p EXCEPT !.off = o]
            /\ UNCHANGED <<now, r, z, cl, res, fails, grants, top, rises>>
Tick == /\ now < MaxTime /\ Running /\ now' = now + 1
        /\ UNCHANGED <<p, r, z, cl, res, fails, grants, top, rises>>
Next == \/ Sync \/ Fail \/ SetClock \/ Tick \/ Released
        \/ \E c \in C : \/ Ask(c) \/ Grant(c) \/ Reply(c) \/ Renew(c) \/ Renewed(c) \/ RenewedByFormer(c) \/ Confirm(c)
                        \/ Leave(c) \/ Look(c) \/ Read(c) \/ Write(c)
Spec == Init /\ [][Next]_vars
-----------------------------------------------------------------------------
\* A holder learns of its loss before the server can give the lock to another: never do two clients believe in a lease.
OneHolder == \A c, d \in C : c /= d => ~(Believes(c) /\ Believes(d))
TokensRise == rises              \* Each grant has a higher token than all earlier grants.
NoStaleWrite == ~res.stale       \* The row takes no write of a holder after a later holder has read it.
NoFalseRefusal == ~res.refused   \* The row refuses no claim of a holder that is later than all others.
Sym == Permutations(C)
=============================================================================
