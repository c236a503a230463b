package conformance_test

// holderSeeds are bugs of locks that store their holder.
func holderSeeds() []seed {
	const (
		holder  = "holder.go"
		acquire = "internal/script/holder_acquire.lua.go"
	)
	found := func(test string) finder { return finder{dir: "hasptest/primitives", test: test, runs: 1} }
	inRepro := func(test string) finder { return finder{dir: "conformance/matrix/repro", test: test, runs: 1} }
	return []seed{
		{"shows what another holder stored", holder, edits{{" || lines[0] != owner {", " {"}},
			found("TestHolderWithoutMetadata")},
		{"stores a holder that has no metadata", lockFile, edits{{`if o.Metadata != "" {`, "if true {"}},
			found("TestHolderWithoutMetadata")},
		{"cuts metadata at a line's end", holder, edits{
			{`strings.SplitN(stored, "\n", 5)`, `strings.SplitN(stored+"\n", "\n", 6)[:5]`},
		}, found("TestHolder")},
		{"stores metadata of any length", holder, edits{{"if len(text) > maxMetadata {", "if false {"}},
			found("TestMetadataIsBounded")},
		{"renews a lock without its holder", "internal/script/holder_renew.lua.go", edits{
			{"redis.call('pexpire', holder, lease)", ""},
		}, inRepro("TestHolderIsStoredAsLongAsTheLock")},
		{"keeps what it stored for ever", acquire, edits{{", 'px', lease)", ")"}},
			inRepro("TestHolderIsStoredAsLongAsTheLock")},
		{"leaves what it stored", "internal/script/holder_release.lua.go", edits{{"redis.call('del', holder)", ""}},
			inRepro("TestHolderIsStoredAsLongAsTheLock")},
		{"tells nobody of a new holder", holder, edits{
			{"granted: extend.SideName(lockHolderChannel, key)", "granted: extend.SideName(lockHolderKey, key)"},
		}, found("TestHolderOfALockThatWasWaitedFor")},
		{"leaves what it stored of many locks", "internal/script/holder_release_all.lua.go", edits{
			{"redis.call('del', holder)", ""},
		}, inRepro("TestHoldersAreReleasedTogether")},
	}
}
