------------------------------- MODULE RedLock -------------------------------
(* A RedLock over five servers that do not replicate each other: primitives/redlock.go. A client holds the lock while   *)
(* it trusts its grants of a majority of the servers. It asks all servers at once, and asks them all again to renew     *)
(* their grants, and to get those that it lacks.                                                                        *)
(*                                                                                                                      *)
(* Time is counted in ticks. A lease is two ticks. Any of the servers run a request, in the tick in which it is sent:   *)
(* if a server runs it later, its grant lasts longer there, and the client trusts it no longer. The others are down, or *)
(* the request is lost. So a server that comes back with its data is one that has run no requests for a while. A client *)
(* that gets no answer trusts less.                                                                                     *)
(*                                                                                                                      *)
(*    Promise or limit of docs/guarantees.md, section RedLock      configuration               result                   *)
(*    One holder: all clocks within ClockDrift                     redlock                     holds                    *)
(*      one server's clock jumps within ClockDrift                 redlock_clock               holds                    *)
(*      one server's clock jumps by more                           redlock_clock_far           two holders              *)
(*    Memory: one server restarts without its data                 redlock_restart             two holders              *)
(*      and stays out for the longest lease                        redlock_restart_out         holds                    *)
(*    A planted bug: two grants are a majority                     planted_redlock_majority    two holders              *)
(*                                                                                                                      *)
(* Bounds: two calls of Lock, five servers, four ticks, and one jump or restart.                                        *)
EXTENDS Naturals, FiniteSets, Bags, TLC
CONSTANTS C,             \* the clients: a call of Lock each
          NoOwner,       \* none of them
          Servers,       \* how many servers there are
          Lease,         \* the ticks that a grant lasts
          Drift,         \* how many ticks earlier the client ends it: Options.ClockDrift
          MaxSkew,       \* the ticks that clients' clocks really lose in a lease
          Jump,          \* the ticks by which the clock of one server jumps forward
          Restarts,      \* how many servers restart without their data
          Out,           \* the ticks for which such a server then runs no requests
          MaxTime        \* the last tick
VARIABLES now,           \* the time
          sv,            \* the servers, as a bag: servers in the same state are not told apart
          cl,            \* the clients
          jumped, restarts
vars == <<now, sv, cl, jumped, restarts>>

\* A server: the lock's owner, the expiry of its key by the server's clock, how far that clock is ahead, the first tick
\* in which the server runs requests, and until when each client trusts its grant of this server.
Fresh == [o |-> NoOwner, exp |-> 0, off |-> 0, back |-> 0, end |-> [c \in C |-> 0]]
\* A client: what it does, and when it sent its last requests.
Init == /\ now = 1 /\ sv = SetToBag({Fresh}) (+) [k \in {Fresh} |-> Servers - 1] /\ jumped = FALSE /\ restarts = 0
        /\ cl = [c \in C |-> [st |-> "idle", sent |-> 0]]

Clock(s) == now + s.off
Free(s) == s.o = NoOwner \/ Clock(s) >= s.exp
End(sent) == sent + Lease - Drift + MaxSkew
Only(bag, Test(_)) == [s \in {k \in DOMAIN bag : Test(k)} |-> bag[s]]
\* All ways to choose some of these servers.
RECURSIVE Some(_)
Some(bag) == IF bag = EmptyBag THEN {bag}
             ELSE LET s == CHOOSE s \in DOMAIN bag : TRUE
                      others == Some(Only(bag, LAMBDA k : k /= s))
                  IN others \cup {rest (+) (s :> n) : n \in 1..bag[s], rest \in others}
Change(some, F(_)) == (sv (-) some) (+) BagOfAll(F, some)
Majority(servers) == 2 * servers > Servers
Holds(c, bag) == Majority(BagCardinality(Only(bag, LAMBDA s : now < s.end[c])))
Believes(c) == cl[c].st = "held" /\ Holds(c, sv)           \* Lease.Err returns nil
Set(c, rec) == cl' = [cl EXCEPT ![c] = rec]
Left == [st |-> "left", sent |-> 0]
Forgotten(c, bag) == LET Forget(s) == [s EXCEPT !.end[c] = 0] IN BagOfAll(Forget, bag)

-----------------------------------------------------------------------------
\* RedLock.Lock asks all servers at once, and some run lock_acquire.lua. The watchdogs and regain do the same later. If
\* too few have granted, the call ends.
Ask(c) == /\ cl[c].sent < now /\ (cl[c].st = "idle" \/ Believes(c))
          /\ \E some \in Some(Only(sv, LAMBDA s : s.back <= now /\ (Free(s) \/ s.o = c))) :
             LET Grant(s) == [s EXCEPT !.o = c, !.exp = Clock(s) + Lease, !.end[c] = End(now)]
                 granted == Change(some, Grant)
             IN /\ some /= EmptyBag
                /\ IF Holds(c, granted) THEN sv' = granted /\ Set(c, [st |-> "held", sent |-> now])
                   ELSE sv' = Forgotten(c, granted) /\ Set(c, Left)
          /\ UNCHANGED <<now, jumped, restarts>>
\* Release, or the end of a call without a majority. Some servers run lock_release.lua.
Leave(c) == /\ cl[c].st /= "idle" /\ Set(c, Left)
            /\ \E some \in Some(Only(sv, LAMBDA s : s.o = c)) :
               LET Release(s) == [s EXCEPT !.o = NoOwner, !.exp = 0] IN sv' = Forgotten(c, Change(some, Release))
            /\ UNCHANGED <<now, jumped, restarts>>
JumpClock == /\ Jump > 0 /\ ~jumped /\ jumped' = TRUE
             /\ \E s \in DOMAIN sv :
                LET Ahead(k) == [k EXCEPT !.off = Jump] IN sv' = Change(SetToBag({s}), Ahead)
             /\ UNCHANGED <<now, cl, restarts>>
\* The clients do not know of it.
Restart == /\ restarts < Restarts /\ restarts' = restarts + 1
           /\ \E s \in DOMAIN sv :
              LET Empty(k) == [k EXCEPT !.o = NoOwner, !.exp = 0, !.back = now + Out] IN
              sv' = Change(SetToBag({s}), Empty)
           /\ UNCHANGED <<now, cl, jumped>>
Tick == /\ now < MaxTime /\ now' = now + 1 /\ UNCHANGED <<sv, cl, jumped, restarts>>
Next == JumpClock \/ Restart \/ Tick \/ \E c \in C : Ask(c) \/ Leave(c)
Spec == Init /\ [][Next]_vars
-----------------------------------------------------------------------------
OneHolder == \A c, d \in C : c /= d => ~(Believes(c) /\ Believes(d))
Sym == Permutations(C)
=============================================================================
