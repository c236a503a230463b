module github.com/hasp-go/hasp/bench

go 1.26.0

require (
	github.com/bsm/redislock v0.9.4
	github.com/go-redis/redis_rate/v10 v10.0.1
	github.com/go-redsync/redsync/v4 v4.18.1
	github.com/hasp-go/hasp v0.0.0
	github.com/hasp-go/hasp/backend/embedded v0.0.0
	github.com/hasp-go/hasp/backend/goredis v0.0.0
	github.com/hasp-go/hasp/backend/rueidis v0.0.0
	github.com/hasp-go/hasp/backend/valkey v0.0.0
	github.com/hasp-go/hasp/conformance v0.0.0
	github.com/redis/go-redis/v9 v9.23.0
	github.com/redis/rueidis v1.0.79
	github.com/redis/rueidis/rueidiscompat v1.0.79
	github.com/stretchr/testify v1.12.1
	github.com/throttled/throttled/v2 v2.15.0
	github.com/valkey-io/valkey-go v1.0.79
	golang.org/x/perf v0.0.0-20260908200009-22c9c6c9d4da
	gonum.org/v1/plot v0.17.0
)

require (
	codeberg.org/go-fonts/liberation v0.5.0 // indirect
	codeberg.org/go-latex/latex v0.2.0 // indirect
	codeberg.org/go-pdf/fpdf v0.11.1 // indirect
	git.sr.ht/~sbinet/gg v0.7.0 // indirect
	github.com/aclements/go-moremath v0.0.0-20210112150236-f10218a38794 // indirect
	github.com/ajstarks/svgo v0.0.0-20211024235047-1546f124cd8b // indirect
	github.com/alicebob/miniredis/v2 v2.40.0 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/golang/freetype v0.0.0-20170609003504-e2365dfdc4a0 // indirect
	github.com/yuin/gopher-lua v1.1.2 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	go.uber.org/multierr v1.10.0 // indirect
	go.uber.org/zap v1.26.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/image v0.46.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
)

replace (
	github.com/hasp-go/hasp => ..
	github.com/hasp-go/hasp/backend/embedded => ../backend/embedded
	github.com/hasp-go/hasp/backend/goredis => ../backend/goredis
	github.com/hasp-go/hasp/backend/rueidis => ../backend/rueidis
	github.com/hasp-go/hasp/backend/valkey => ../backend/valkey
	github.com/hasp-go/hasp/conformance => ../conformance
)
