package conformance_test

// numberSeeds are bugs in what is a number: semaphores, latches, atomic numbers.
func numberSeeds() []seed {
	const scripts = "internal/script/"
	return []seed{
		{"takes permits that are not there", scripts + "semaphore_acquire.lua.go", edits{
			{"if free < tonumber(wanted) then", "if false then"},
		}, historiesOf("Semaphore")},
		{"releases permits without a message", scripts + "semaphore_add.lua.go", edits{
			{"redis.call(publish, free, string.format('%.0f', after))", "local _ = publish"},
		}, propertiesOf("Semaphore")},
		{"forgets what came after its caller had left", "extend/request.go", edits{
			{"\tq.Late.HandleLate(replay(outcome))\n", ""},
		}, propertiesOf("Semaphore")},
		{"holds up those who need few", queueFile, edits{
			{"\t\tif w.need <= n {\n", "\t\tif w.need > n {\n\t\t\tbreak\n\t\t}\n\t\t{\n"},
		}, freeUnits},
		{"keeps what is left over to itself", queueFile, edits{
			{"\t\t\tq.wakeForRest(answer.Free)\n", ""},
		}, freeUnits},
		{"returns a rounded count of a latch", scripts + "latch_count_down.lua.go", edits{
			{"left < 9007199254740992 and left or redis.call('get', latch)", "left"},
		}, finder{dir: "conformance/matrix/repro", test: "TestNumbersAtTheirEnds/CountDownLatch"}},
		{"adds doubles with more digits than they have, up to their end", scripts + "double_add.lua.go", edits{
			{"elseif math.abs(sum) < 1e300 then", "else"},
		}, finder{dir: "conformance/matrix/repro", test: "TestNumbersAtTheirEnds/AtomicDouble"}},
		{"counts down below the last", scripts + "latch_count_down.lua.go", edits{
			{"less('1', count)", "less('0', count)"},
		}, historiesOf("Latch")},
		{"counts an open latch further down", scripts + "latch_count_down.lua.go", edits{
			{"less('1', count)", "count ~= '1'"},
		}, propertiesOf("Latch")},
		{"deletes a latch and publishes a new count", scripts + "latch_delete.lua.go", edits{
			{"redis.call(publish, counted, '0')", "redis.call(publish, counted, '1')"},
		}, propertiesOf("Latch")},
		{"lets one waiter through a latch", "countdownlatch.go", edits{
			{"|| count > 0 {\n\t\treturn extend.Answer{}, err\n\t}\n\treturn extend.Answer{Granted: true, Free: extend.AllUnits}",
				"|| count > 0 {\n\t\treturn extend.Answer{}, err\n\t}\n\treturn extend.Answer{Granted: true}"},
		}, propertiesOf("Latch")},
		{"sets a latch without its end", scripts + "latch_set.lua.go", edits{
			{"redis.call('set', latch, count, 'px', ttl)", "redis.call('set', latch, count)"},
		}, propertiesOf("Latch")},
		{"sets a latch without a message", scripts + "latch_set.lua.go", edits{
			{"redis.call(publish, counted, '1')", "local _ = publish"},
		}, propertiesOf("Latch")},
		{"is deaf to the setting of a latch", "countdownlatch.go", edits{
			{"func(string) int { return extend.AllUnits }", "func(string) int { return 0 }"},
		}, propertiesOf("Latch")},
		{"wakes one who waits for a latch to be set", "countdownlatch.go", edits{
			{"func(string) int { return extend.AllUnits }", "func(string) int { return 1 }"},
			{"|| !set {\n\t\treturn extend.Answer{}, err\n\t}\n\treturn extend.Answer{Granted: true, Free: extend.AllUnits}",
				"|| !set {\n\t\treturn extend.Answer{}, err\n\t}\n\treturn extend.Answer{Granted: true}"},
		}, propertiesOf("Latch")},
		{"takes a latch that is not set for one that is", scripts + "latch_is_set.lua.go", edits{
			{"if not count then\n  return 0", "if not count then\n  return 1"},
		}, historiesOf("Latch")},
		{"queues who waits for permits with who makes them", "extend/wait.go", edits{
			{"Condition: want.Condition, ", ""},
		}, onEmbedded("SemaphorePollFindsItGone")},
		{"polls for one condition alone", "internal/wait/wait.go", edits{
			{"queueKey{want.Object, want.Condition,", "queueKey{want.Object, \"\","},
		}, finder{dir: "primitives/internal/wait", test: "TestWaitConditionsPollEachByItself"}},
		{"makes a semaphore without its end", scripts + "semaphore_set_and_acquire.lua.go", edits{
			{"string.format('%.0f', left), 'px', ttl)", "string.format('%.0f', left))"},
		}, onEmbedded("SemaphoreIsMadeByTheFirst")},
		{"makes a semaphore without a message", scripts + "semaphore_set_and_acquire.lua.go", edits{
			{"redis.call(publish, released, string.format('%.0f', left))", "local _ = publish"},
		}, propertiesOf("Semaphore")},
		{"makes a semaphore anew that is used up", scripts + "semaphore_set_and_acquire.lua.go", edits{
			{"local text = redis.call('get', permits)", "local text = redis.call('get', permits)\nif text == '0' then text = false end"},
		}, historiesOf("Semaphore")},
		{"makes a semaphore by a release", "semaphore.go", edits{
			{"n, s.permits == 0)", "n, true)"},
		}, onEmbedded("SemaphoreIsMadeByTheFirst")},
		{"compares whole numbers as doubles", scripts + "long_set_if_less.lua.go", edits{
			{"if not less(value, than) then", "if not (tonumber(value) < tonumber(than)) then"},
		}, propertiesOf("AtomicLong")},
		{"drops the end of a number's life", scripts + "long_compare_and_set.lua.go", edits{
			{"redis.call('set', number, new, 'keepttl')", "redis.call('set', number, new)"},
		}, propertiesOf("AtomicLong")},
		{"stores a number over what is none", scripts + "long_set.lua.go", edits{
			{"not integer(redis.call('get', number) or '0')", "false"},
		}, onEmbedded("AtomicLongConflict")},
		{"takes what is no double", scripts + "double_take.lua.go", edits{
			{"not number(old or '0')", "false"},
		}, onEmbedded("AtomicDoubleConflict")},
		{"stores a double over one that is as great", scripts + "double_set_if_greater.lua.go", edits{
			{"if not (value > number(than)) then", "if not (value >= number(than)) then"},
		}, historiesOf("AtomicDouble")},
		{"drops the end of a double's life", scripts + "double_set_if_less.lua.go", edits{
			{"redis.call('set', counter, new, 'keepttl')", "redis.call('set', counter, new)"},
		}, propertiesOf("AtomicDouble")},
		{"returns a double that is not quite what is stored", "atomicdouble.go", edits{
			{"return read(script.DoubleGet(ctx, a.base.Runner(), a.base.Key()))",
				"value, err := read(script.DoubleGet(ctx, a.base.Runner(), a.base.Key()))\n" +
					"\t\treturn value * (1 + 1e-15), err"},
		}, historiesOf("AtomicDouble")},
		{"stores a sum that no double has", scripts + "double_add.lua.go", edits{
			{"if sum - sum ~= 0 then", "if false then"},
		}, onEmbedded("AtomicDoubleErrors")},
	}
}
