package conformance_test

// adderSeeds are bugs in adders.
func adderSeeds() []seed {
	const (
		request = "adder.go"
		group   = "addergroup.go"
		answer  = "internal/script/adder_answer.lua.go"
		take    = "internal/script/adder_take.lua.go"
	)
	unit := func(test string) finder { return finder{dir: "hasptest/primitives", test: "TestAdder" + test} }
	databases := finder{dir: "conformance/matrix/repro", test: "TestAddersInTwoDatabases"}
	return []seed{
		{"answers for each adder of a backend", group, edits{
			{"\t\ta.answer(id, sum) //", "\t\tfor range g.members {\n\t\t\ta.answer(id, sum)\n\t\t} //"},
		}, propertiesOf("Adder")},
		{"counts an adder that is closed", group, edits{
			{"\tdelete(g.members, a)\n", ""},
		}, propertiesOf("Adder")},
		{"stays subscribed when all are closed", group, edits{
			{"\t\tunused = g.subscription\n", ""},
		}, unit("SubscribesWhileOpen")},
		{"never forgets a group of adders", group, edits{
			{"\t\tdelete(adderGroups.groups, g.key)\n\t\tunused = g.subscription\n",
				"\t\tunused, g.subscription = g.subscription, nil\n"},
		}, unit("SubscribesWhileOpen")},
		{"opens no adder after another has left", group, edits{
			{"defer func() { <-g.turn }()",
				"defer func() {\n\t\t\tif g.subscribed() {\n\t\t\t\t<-g.turn\n\t\t\t}\n\t\t}()"},
		}, unit("OpensTogether")},
		{"leaves itself out while its link is being restored", request, edits{
			{"return sum.plus(q.group.serve(q.what))", "return sum, nil"},
		}, unit("CountsItselfWithoutALink")},
		{"counts itself twice", request, edits{
			{"if err != nil || q.group.heard(q.id) {", "if err != nil {"},
		}, propertiesOf("Adder")},
		{"answers again when the reply was lost", group, edits{
			{"canResend(err) && sleep(ctx, pause)", "err != nil && sleep(ctx, pause)"},
		}, unit("AnswersAtMostOnce")},
		{"gives an answer up that was surely not executed", group, edits{
			{"canResend(err) && sleep(ctx, pause)", "canResend(err) && ctx.Err() != nil"},
		}, unit("AnswersAtMostOnce")},
		{"lets a sum outlive its adder", request, edits{
			{"stop := context.AfterFunc(a.life, cancel)", "stop := func() {}"},
		}, unit("ClosesDuringSum")},
		{"asks once alone", request, edits{
			{"if !q.unanswered {", "if err == nil || ctx.Err() == nil {"},
		}, unit("AsksAgain")},
		{"forgets how many have answered before", request, edits{
			{"if n := int(q.answered.Load()); n >= best.Answered {", "if n := int(q.answered.Load()); n >= 0 {"},
		}, unit("SaysHowManyHaveAnsweredBefore")},
		{"asks for ever", request, edits{
			{"case patience == maxPatience:", "case false:"},
		}, unit("GivesUpAnAnswer")},
		{"does not look where Redisson answers under a prefix", request, edits{
			{"if prefix == \"\" ||", "if true ||"},
		}, unit("UnderAPrefix")},
		{"hears of no answer under a prefix", request, edits{
			{"if len(q.begins) > 1 {", "if len(q.begins) > 2 {"},
		}, unit("UnderAPrefix")},
		{"resets the adders of another database", group, edits{
			{"\t\tif here {\n", "\t\tif here || true {\n"},
		}, databases},
		{"resets what was added since a later reset", group, edits{
			{"if reset > g.obeyed {", "if reset > 0 {"},
		}, unit("ResetsNoLaterCount")},
		{"waits for the answers of another database", group, edits{
			{"\t\tq.elsewhere[group] = struct{}{}\n", "\t\t_ = group\n"},
		}, databases},
		{"answers the requests of another database", answer, edits{
			{"if elsewhere ~= '' and", "if false and"},
		}, databases},
		{"takes a sum before all have answered", take, edits{
			{"answered < tonumber(asked)", "answered + 1 < tonumber(asked)"},
		}, propertiesOf("Adder")},
		{"leaves the sum behind", take, edits{
			{"redis.call('del', key)", "if key ~= answers[1] then redis.call('del', key) end"},
		}, onEmbedded("AdderAsksAPeer")},
		{"leaves a count of answers that has no end", answer, edits{
			{"redis.call('set', semaphore, answers, 'px', ttl)", "redis.call('set', semaphore, answers)"},
		}, onEmbedded("AdderAnswersAPeer")},
		{"takes a sum beyond the range for what it was before", answer, edits{
			{"sum .. ' ' .. addend", "sum"},
		}, onEmbedded("AdderSumOverflows")},
	}
}
