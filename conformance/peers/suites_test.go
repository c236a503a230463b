package peers

// suite is a part of a module's tests.
type suite struct {
	module  string
	version string
	take    []string          // the module's files, by patterns, of which all tests are counted
	shims   map[string]string // files of testdata, by the names that they get among the module's
	cut     []string          // functions, other than tests, that need what no shim has
	edits   []string          // pairs of texts: each is in the files, and is replaced by the next
	virtual bool              // each test runs in a bubble of testing/synctest
	changed []string          // the edits, as users read them
	left    []left
}

// left says to users why tests are left out: each is one by its name, or all of a file.
type left struct {
	why   string
	tests []string
}

var suites = []suite{
	{
		module:  "github.com/go-redsync/redsync/v4",
		version: "4.18.1",
		take:    []string{"go.*", "redis/redis.go", "*_test.go"},
		shims:   map[string]string{"redsync.go": "hasp_test.go"},
		cut: []string{
			"TestMain", "testRunner", "makeCases", "newMockPoolsRedigo", "newMockPoolsGoredis", "newMockPoolsGoredisV7",
			"newMockPoolsGoredisV8", "newMockPoolsGoredisV9", "newMockPoolsRueidis",
		},
		edits:   []string{"var servers []*tempredis.Server\n", "", "t.Run(k, func(", "run(t, k, func("},
		virtual: true,
		left: []left{
			{"`WithSetNXOnExtend`", []string{"TestSetNXOnExtendAcquiresLockWhenKeyIsExpired"}},
			{"error texts, scripts", []string{"error_test.go", "scripts_test.go"}},
		},
	},
	{
		module:  "github.com/bsm/redislock",
		version: "0.10.0",
		take:    []string{"go.*", "*_test.go"},
		shims:   map[string]string{"redislock.go": "hasp.go"},
		edits:   []string{"time.Millisecond", "(100*time.Millisecond)", "	DB:      9,\n", ""},
		changed: []string{"times ×100"},
		left: []left{
			{"`Options.Token`", []string{"TestObtain_custom_token"}},
			{"retry strategies", []string{
				"retry_test.go", "TestLock_Refresh_retry_transient_error", "TestLock_Refresh_retry_transient_error_exhausted",
			}},
		},
	},
	{
		module:  "github.com/go-redis/redis_rate/v10",
		version: "10.0.1",
		take:    []string{"go.*", "*_test.go"},
		shims:   map[string]string{"redis_rate.go": "hasp.go", "redis_rate_open.go": "hasp_test.go"},
		virtual: true,
		cut:     []string{"rateLimiter"},
	},
	{
		module:  "golang.org/x/time",
		version: "0.16.0",
		take:    []string{"go.*", "rate/*_test.go"},
		shims:   map[string]string{"xrate.go": "rate/hasp.go"},
		virtual: true,
		cut:     []string{"runReserve", "runReserveMax", "BenchmarkAllowN", "BenchmarkWaitNNoDelay"},
		left: []left{
			{"reservations", []string{
				"TestSimpleReserve", "TestMix", "TestCancelInvalid", "TestCancelLast", "TestCancelTooLate", "TestCancel0Tokens",
				"TestCancel1Token", "TestCancelMulti", "TestReserveJumpBack", "TestReserveJumpBackCancel", "TestReserveSetLimit",
				"TestReserveSetBurst", "TestReserveSetLimitCancel", "TestReserveMax",
			}},
			{"rates of 0, ∞, under 1 a year", []string{
				"TestWaitInf", "TestZeroLimit", "TestSetAfterZeroLimit", "TestTinyLimit", "TestEvery",
			}},
			{"`Wait` foresees no deadline", []string{"TestWaitTimeout"}},
			{"its timers", []string{"TestWaitCancel"}},
			{"`Sometimes`", []string{"sometimes_test.go"}},
		},
	},
	{
		module:  "github.com/go-chi/httprate",
		version: "0.16.1",
		take:    []string{"go.*", "*_test.go"},
		shims:   map[string]string{"httprate.go": "hasp.go"},
		edits:   []string{`want: "64:ff9b::"`, `want: "192.0.2.1"`},
		changed: []string{"NAT64 addresses are IPv4"},
		left: []left{
			{"`X-RateLimit` headers", []string{"TestResponseHeaders", "TestCustomResponseHeaders"}},
			{"custom refusals, limit of one request", []string{"TestLimitHandler", "TestOverrideRequestLimit"}},
			{"`KeyByRealIP`", []string{"TestKeyByRealIP_SpoofableRegression"}},
			{"its counters", []string{"local_counter_test.go", "limiter_internal_test.go"}},
		},
	},
	{
		module:  "github.com/throttled/throttled/v2",
		version: "2.15.0",
		take:    []string{"go.*", "*.go", "store/*.go", "store/memstore/memstore.go", "store/redigostore/redigostore.go"},
		shims:   map[string]string{"throttled.go": "hasp.go"},
		virtual: true,
		cut:     []string{"(g *GCRARateLimiterCtx) RateLimitCtx"},
		left: []left{
			{"its store's attempts", []string{"TestRateLimitUpdateFailures", "TestRateLimitUpdateFailuresWithRetryLimitSetToTwo"}},
			{"its HTTP code", []string{"http_test.go", "varyby_test.go"}},
		},
	},
	{
		module:  "github.com/ulule/limiter/v3",
		version: "3.11.2",
		take: []string{
			"go.*", "*.go", "internal/*/*.go", "drivers/store/tests/*.go", "drivers/store/redis/*_test.go", "drivers/middleware/stdlib/*.go",
		},
		shims: map[string]string{"ulule.go": "drivers/store/redis/redis.go", "ulule_memory.go": "drivers/store/memory/memory.go"},
		left:  []left{{"parsers of rates, addresses", []string{"rate_test.go", "network_test.go"}}},
	},
	{
		module:  "github.com/sethvargo/go-redisstore",
		version: "0.3.0",
		take:    []string{"go.*", "*_test.go"},
		shims:   map[string]string{"redisstore.go": "hasp.go"},
		edits: []string{
			"if err := s.Burst(ctx, key, 5); err != nil {\n\t\t\tt.Fatal(err)\n\t\t}\n\n", "",
			"uint64(14)", "uint64(9)",
		},
		changed: []string{"`Burst`"},
	},
}
