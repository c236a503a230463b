package conformance_test

// idSeeds are bugs in the generator of ids.
func idSeeds() []seed {
	const (
		generator = "idgenerator.go"
		block     = "internal/script/id_block.lua.go"
	)
	ends := func(test string) finder { return finder{dir: "conformance/matrix/repro", test: test} }
	return []seed{
		{"returns an id of a block twice", generator, edits{
			{"b.first, b.left = block.First+1, block.Size-1", "b.first, b.left = block.First, block.Size"},
		}, onEmbedded("IDGeneratorDrawsFromBlocks")},
		{"takes a block for each id", generator, edits{
			{"b.first, b.left = block.First+1, block.Size-1", "b.first, b.left = block.First+1, 0"},
		}, onEmbedded("IDGeneratorSharesBlocks")},
		{"has a block for each generator", generator, edits{
			{"g.block = c.idBlocks.of(g.base.Key())", "g.block = new(idBlock)"},
		}, onEmbedded("IDGeneratorDrawsFromBlocks")},
		{"shares the error of who has left", generator, edits{
			{"\tif ctx.Err() == nil {\n\t\tshared = err\n\t}\n", "\tshared = err\n"},
		}, finder{dir: "hasptest/primitives", test: "TestIDGeneratorCallerLeaves"}},
		{"has each who waits ask after an error", generator, edits{
			{"\t\tshared = err\n", ""},
		}, finder{dir: "hasptest/primitives", test: "TestIDGeneratorSharesErrors"}},
		{"lets who waits for a block not leave", generator, edits{
			{"\t\tcase <-ctx.Done():\n\t\t\treturn 0, ctx.Err()\n", ""},
		}, finder{dir: "hasptest/primitives", test: "TestIDGeneratorCallerLeaves"}},
		{"waits for ever after a panic", generator, edits{
			{"defer func() { g.block.refill(block, shared) }()", "defer func() {\n\t\tif block.Size > 0 || err != nil {\n\t\t\tg.block.refill(block, shared)\n\t\t}\n\t}()"},
		}, finder{dir: "hasptest/primitives", test: "TestIDGeneratorAfterAPanic"}},
		{"takes a block that others get, too", block, edits{
			{"redis.call('incrby', ids, size)", "redis.call('set', ids, first)"},
		}, historiesOf("IDGenerator")},
		{"never gives the last block", block, edits{
			{"if first and less(last, first) then", "if first and not less(first, last) then"},
		}, ends("TestNumbersAtTheirEnds/IDGenerator")},
		{"takes blocks of no size", block, edits{
			{" or not less('0', size or '5000')", ""},
		}, onEmbedded("IDGeneratorBadBlockSize")},
		{"begins with another id than Redisson", block, edits{
			{"  first = '1'\n", "  first = '0'\n"},
		}, onEmbedded("IDGeneratorDefaults")},
		{"initializes what has an id", "internal/script/id_init.lua.go", edits{
			{"redis.call('get', ids) or", "false or"},
		}, onEmbedded("IDGeneratorInitChangesNothing")},
	}
}
