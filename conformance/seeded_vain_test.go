package conformance_test

// vainSeeds are bugs that parts of the suite once passed over, since they had not looked: nothing was
// ever granted, nobody waited to the end, all names were in one slot. Each must be found where it was
// missed.
func vainSeeds() []seed {
	const (
		semaphore = "semaphore.go"
		latch     = "countdownlatch.go"
		number    = "number.go"
	)
	refused := edits{{"if size > 0 then", "if size > 0 the"}}
	conflict := edits{{"s.run(ctx, a, try)", "tries{}, error(ErrConflict)"}}
	deafSemaphore := edits{{"\treturn n\n}", "\treturn n * 0\n}"}}
	deafLatch := edits{{"\t\treturn extend.AllUnits\n\t}\n\treturn 1\n", "\t\treturn 0\n\t}\n\treturn 0\n"}}
	kept := edits{{"\t\ttaken = p.n\n", ""}}
	unsubscribed := edits{{"if !c.client.pubsub || c.Subscribed ||", "if c.client.pubsub || c.Subscribed ||"}}
	unpublished := edits{{"redis.call(publish, released, '0')", ""}}
	return []seed{
		{"has a syntax error in the script that acquires", acquireFile, refused, inReal("LockHistories")},
		{"never acquires", takeFile, conflict, histories},
		{"never acquires, in real time", takeFile, conflict, inReal("LockHistories")},
		{"is a deaf semaphore", semaphore, deafSemaphore, historiesOf("Semaphore")},
		{"is a deaf semaphore, in real time", semaphore, deafSemaphore, inReal("SemaphoreHistories")},
		{"is a deaf latch", latch, deafLatch, historiesOf("Latch")},
		{"is a deaf latch, in real time", latch, deafLatch, inReal("LatchHistories")},
		{"keeps what a cancelled acquire took", "permits.go", kept, historiesOf("Semaphore")},
		{"subscribes to no lock", channelFile, unsubscribed, inReal("LockHistories")},
		{"subscribes to no semaphore", channelFile, unsubscribed, inReal("SemaphoreHistories")},
		{"subscribes to no latch", channelFile, unsubscribed, inReal("LatchHistories")},
		{"releases without a message, in real time", releaseFile, unpublished, inReal("LockHistories")},
		{"gives a thirtieth of a life", number, edits{
			{"o.beside, numberKind, d)", "o.beside, numberKind, d/30)"},
		}, onEmbedded("SemaphoreLife")},
		{"ends a life on the day", number, edits{
			{"o.beside, numberKind, t)", "o.beside, numberKind, t.Truncate(24*time.Hour))"},
		}, onEmbedded("SemaphoreLife")},
		{"tells a thirtieth of what remains of a life", number, edits{
			{"return remaining(script.ObjectRemaining(ctx, o.base.Runner(), o.base.Key()))",
				"left, err := remaining(script.ObjectRemaining(ctx, o.base.Runner(), o.base.Key()))\n" +
					"\t\treturn left / 30, err"},
		}, onEmbedded("SemaphoreLife")},
		{"keeps the token for ever", acquireFile, edits{
			{"'px', tokenttl, 'get')", "'get')"},
		}, onEmbedded("LockWalks")},
		{"has a lock's channel without the prefix", lockFile, edits{
			{"extend.SideName(lockChannel, l.base.Key())", "extend.SideName(lockChannel, l.Name())"},
		}, properties},
		{"has a lock's token without the prefix", ownedFile, edits{
			{"extend.SideName(lockTokenKey, l.base.Key())", "extend.SideName(lockTokenKey, l.Name())"},
		}, properties},
		{"has a semaphore's channel without the prefix", semaphore, edits{
			{"extend.SideName(semaphoreChannel, s.base.Key())", "extend.SideName(semaphoreChannel, s.Name())"},
		}, propertiesOf("Semaphore")},
		{"has a latch's channel without the prefix", latch, edits{
			{"key := l.base.Key()\n\tif strings", "key := l.Name()\n\tif strings"},
		}, propertiesOf("Latch")},
		{"minds the monotonic clock alone", "internal/renew/clock.go", edits{
			{"max(now.at-start.at, now.wall-start.wall)", "now.at - start.at"},
		}, finder{dir: "primitives/internal/renew", test: "TestKeeperMindsBothClocks"}},
		{"minds the wall clock alone", "internal/renew/clock.go", edits{
			{"max(now.at-start.at, now.wall-start.wall)", "now.wall - start.wall"},
		}, finder{dir: "primitives/internal/renew", test: "TestKeeperMindsBothClocks"}},
		{"serves the last waiter first", queueFile, edits{
			{"me.element = q.parked.PushBack(me)", "me.element = q.parked.PushFront(me)"},
		}, finder{dir: "primitives/internal/wait", test: "TestWaitServesInTurn"}},
		{"renews what is in several slots by one script", renewalFile, edits{
			{"group.slot = backend.Slot(e.Key)", "group.slot = 0"},
		}, finder{dir: "primitives/internal/renew", test: "TestKeeperBatchesBySlotAndLease"}},
	}
}

// inReal is a test of the suite on the embedded server, in real time.
func inReal(test string) finder { return finder{dir: virtual, test: "TestEmbedded/" + test, runs: 5} }
