package engine

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// fault is something that goes wrong with the server, or on the way to it, and ends.
type fault struct {
	name  string
	alone bool // it affects the whole server
	needs []harness.Need

	// lease is the lease of the actors, renewed: longer than their time, where the end of a lease must not
	// be what lets them go on. Zero: longLease.
	lease time.Duration
	lasts time.Duration

	// loses says that leases may be lost; forgets, that the server may lose what it granted, so
	// only tokens rise. Else every renewed lease outlives the fault.
	loses, forgets bool

	// steps says that the server's clock is stepped: leases that are no longer than that end before their holders know.
	steps bool

	// keep, if not zero, is how long the holder keeps the object, where that is what matters.
	keep time.Duration

	// calm leaves out the steps with short leases that nobody renews.
	calm bool

	inject injection
}

// injection makes a fault. heal ends it; nil: it ends by itself.
type injection func(ctx context.Context, s *scene) (heal func(ctx context.Context))

// scene is where a fault happens: crowds that run.
type scene struct {
	*harness.Harness
	key   string         // of an object
	links []harness.Link // those that faults may hit; empty if there are none
	reach func(situation string)
}

const (
	// longLease is one that no actor gets the object by: it is longer than what faults may cost.
	longLease = 30 * time.Second
	// longPoll is a poll that comes too late, too. While there is no subscription it comes often enough.
	longPoll = 40 * time.Second
	// briefly is how long a fault lasts that is over before a lease ends.
	briefly = 200 * time.Millisecond
	// beyondLease is longer than workLease.
	beyondLease = workLease + workLease/3
	// renewedLease leaves a slow machine half of it for another try.
	renewedLease = 9 * time.Second
)

// FaultCases implements [Subject]: a case for each fault, under which the model explains what actors
// saw, work goes on after it, and no lease is lost that need not be.
func (p *Primitive[S, I, O]) FaultCases() (cases []harness.Case) {
	if !p.hasLeases() {
		return nil
	}
	for _, f := range faults() {
		name := "Survives" + f.name
		cases = append(cases, harness.Case{
			Name: p.Name + name, Shared: name, Clause: p.Limit, Text: p.Promises[p.Limit],
			Alone: f.alone, Needs: p.needs(f.needs),
			Run: func(ctx context.Context, e *harness.Env) { f.besiege(ctx, p.over(e.Harness), p.workload()) },
		})
	}
	return cases
}

// faults returns all faults: those of links, which hit some clients, and those of the server, which hit all.
func faults() []fault {
	links, servers := linkFaults(), serverFaults()
	for i := range links {
		links[i].needs = []harness.Need{harness.Faults}
	}
	for i := range servers {
		servers[i].alone = true
	}
	all := slices.Concat(links, servers)
	for i := range all {
		all[i].lease = cmp.Or(all[i].lease, longLease)
	}
	return all
}

func linkFaults() []fault {
	cut := func(_ context.Context, s *scene) { s.each(harness.Link.Cut) }
	slow := func(l harness.Link) { l.Delay(50 * time.Millisecond) }
	return []fault{
		{name: "CutLinks", lasts: briefly, inject: repeatedly(cut)},
		{name: "RefusedLinks", lasts: briefly, inject: healing(harness.Link.Refuse)},
		{name: "SilentLinks", lasts: briefly, inject: healing(harness.Link.Blackhole)},
		{
			name: "LostRequests", lease: workLease, lasts: beyondLease, loses: true,
			inject: healing(harness.Link.BlackholeRequests),
		},
		{
			name: "LostReplies", lease: workLease, lasts: beyondLease, loses: true,
			inject: healing(harness.Link.BlackholeReplies),
		},
		{name: "SlowLinks", lasts: briefly, inject: healing(slow)},
		{name: "CutReplies", lasts: 2 * briefly, inject: losing(harness.Link.CutReply, true)},
		{name: "SwallowedReplies", lasts: 2 * briefly, inject: losing(harness.Link.LoseReply, true)},
		{ // A renewal is due after a third of the lease, and missed at its end.
			name: "CutRenewals", lease: renewedLease, lasts: renewedLease * 3 / 8,
			keep: renewedLease + 2*settle, calm: true, inject: losing(harness.Link.CutReply, false),
		},
	}
}

func serverFaults() []fault {
	admin, oneNode, failOver := harness.ClientList, harness.OneNode, []harness.Need{harness.FailOver}
	restart, advances := []harness.Need{harness.Restart}, []harness.Need{harness.Advance}
	return []fault{
		{
			name: "KilledConnections", needs: []harness.Need{admin}, lasts: briefly,
			inject: commands("CLIENT", "KILL", "TYPE", "normal"),
		},
		{
			name: "KilledSubscriptions", needs: []harness.Need{admin, harness.PubSub}, lasts: briefly,
			inject: commands("CLIENT", "KILL", "TYPE", "pubsub"),
		},
		{name: "FlushedScripts", lasts: briefly, inject: commands("SCRIPT", "FLUSH")},
		{name: "OutOfMemory", needs: []harness.Need{admin}, lasts: briefly, inject: exhaust},
		{
			name: "ReadOnlyServer", needs: []harness.Need{admin, oneNode, harness.FixedRoles}, lasts: briefly,
			inject: demote,
		},
		{
			name: "StoppedServer", needs: []harness.Need{harness.Pause}, lease: workLease, lasts: beyondLease,
			loses: true, inject: stopServer,
		},
		{name: "Restart", needs: restart, inject: restarts(true)},
		{name: "LostData", needs: restart, forgets: true, inject: restarts(false)},
		{name: "Failover", needs: failOver, lease: workLease, forgets: true, inject: failsOver(0)},
		// The replica does not see what the actors write meanwhile.
		{name: "LaggingReplica", needs: failOver, lease: workLease, forgets: true, inject: failsOver(briefly)},
		{name: "SlotMigration", needs: []harness.Need{harness.Migrate}, lasts: briefly, inject: migrate},
		// As much as a lease's drift.
		{name: "ClockStep", needs: advances, calm: true, steps: true, inject: advance(longLease / 10)},
		{ // No message is sent when a key expires: the waiters wait for what remained when they looked.
			name: "ClockLeap", needs: advances, lease: workLease, forgets: true, steps: true,
			inject: advance(2 * workLease),
		},
	}
}

// each does something to all links.
func (s *scene) each(do func(harness.Link)) {
	for _, link := range s.links {
		do(link)
	}
}

// healing makes a fault that lasts until the links are restored.
func healing(hit func(harness.Link)) injection {
	return func(_ context.Context, s *scene) func(context.Context) {
		s.each(hit)
		return func(context.Context) { s.each(harness.Link.Restore) }
	}
}

// repeatedly makes a fault that happens again and again.
func repeatedly(once func(ctx context.Context, s *scene)) injection {
	return func(ctx context.Context, s *scene) func(context.Context) {
		stop := make(chan struct{})
		stopped := must.Start(func() {
			for !isClosed(stop) {
				once(ctx, s)
				time.Sleep(2 * time.Millisecond)
			}
		})
		return func(context.Context) { close(stop); must.Do(<-stopped) }
	}
}

// loser is a method of Link that loses one reply.
type loser func(l harness.Link, match func(words []string) bool) <-chan struct{}

// losing makes a fault that loses the replies of scripts one by one: one of each script, or all.
func losing(lose loser, oneOfEach bool) injection {
	return func(_ context.Context, s *scene) func(context.Context) {
		stop := make(chan struct{})
		var all sync.WaitGroup
		s.each(func(l harness.Link) { all.Go(func() { s.loseInTurn(l, lose, oneOfEach, stop) }) })
		return func(context.Context) {
			close(stop)
			all.Wait()
			s.each(harness.Link.Cut) // What is silent would stay so for as long as a driver waits.
		}
	}
}

// loseInTurn loses one reply after the other on a link.
func (s *scene) loseInTurn(l harness.Link, lose loser, oneOfEach bool, stop <-chan struct{}) {
	seen := map[string]bool{} // by one goroutine at a time
	match := func(words []string) bool {
		if isClosed(stop) || !harness.RunsScript(words, s.key) || oneOfEach && seen[words[1]] {
			return false // After the end it is still armed.
		}
		seen[words[1]] = true
		return true
	}
	for {
		select {
		case <-lose(l, match):
			s.reach("reply lost on purpose")
		case <-stop:
			return
		}
	}
}

// commands makes a fault by a command that all nodes get again and again.
func commands(words ...string) injection {
	return repeatedly(func(ctx context.Context, s *scene) { must.Get(s.Primaries(ctx, words...)) })
}

// exhaust makes every server refuse what takes memory.
func exhaust(ctx context.Context, s *scene) func(context.Context) {
	set := func(ctx context.Context, limit string) {
		must.Get(s.Primaries(ctx, "CONFIG", "SET", "maxmemory", limit))
	}
	set(ctx, "1")
	return func(ctx context.Context) { set(ctx, "0") }
}

// demote makes the server a replica of nobody, as an old primary is after a failover.
func demote(ctx context.Context, s *scene) func(context.Context) {
	must.Get(s.Do(ctx, "", "REPLICAOF", "127.0.0.1", "1"))
	return func(ctx context.Context) { must.Get(s.Do(ctx, "", "REPLICAOF", "NO", "ONE")) }
}

func stopServer(ctx context.Context, s *scene) func(context.Context) {
	resume := must.Get(s.Pause(ctx, s.key))
	return func(context.Context) { must.Do(resume()) }
}

// restarts makes a fault in which the server restarts, with its data or without.
func restarts(withData bool) injection {
	return func(ctx context.Context, s *scene) func(context.Context) {
		must.Do(s.Restart(ctx, withData))
		return nil
	}
}

// failsOver makes a fault in which a replica is promoted that has not seen the writes of so long.
func failsOver(lag time.Duration) injection {
	return func(ctx context.Context, s *scene) func(context.Context) {
		var meanwhile func(context.Context) error
		if lag > 0 {
			meanwhile = func(context.Context) error { time.Sleep(lag); return nil }
		}
		must.Do(s.FailOver(ctx, s.key, meanwhile))
		return nil
	}
}

// migrate moves the object's slot, with a stop on half the way.
func migrate(ctx context.Context, s *scene) func(context.Context) {
	finish := must.Get(s.Migrate(ctx, s.key))
	return func(ctx context.Context) { must.Do(finish(ctx)) }
}

// advance steps the server's clock forward.
func advance(d time.Duration) injection {
	return func(_ context.Context, s *scene) func(context.Context) {
		s.Advance(d)
		return nil
	}
}
