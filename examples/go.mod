module github.com/hasp-go/hasp/examples

go 1.26.0

require (
	github.com/alicebob/miniredis/v2 v2.40.0
	github.com/gomodule/redigo v1.9.3
	github.com/hasp-go/hasp v0.0.0
	github.com/hasp-go/hasp/backend/embedded v0.0.0
	github.com/hasp-go/hasp/backend/goredis v0.0.0
	github.com/hasp-go/hasp/backend/rueidis v0.0.0
	github.com/hasp-go/hasp/backend/valkey v0.0.0
	github.com/hasp-go/hasp/conformance v0.0.0
	github.com/hasp-go/hasp/hasptest v0.0.0
	github.com/hasp-go/hasp/integration/httpidem v0.0.0
	github.com/hasp-go/hasp/integration/httplimit v0.0.0
	github.com/hasp-go/hasp/integration/prometheus v0.0.0
	github.com/prometheus/client_golang v1.25.0
	github.com/redis/go-redis/v9 v9.23.0
	github.com/redis/rueidis v1.0.79
	github.com/stretchr/testify v1.12.1
	github.com/valkey-io/valkey-go v1.0.79
	go.uber.org/zap v1.28.0
)

require (
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/hasp-go/hasp/luagen v0.0.0 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/prometheus/client_model v0.6.3 // indirect
	github.com/prometheus/common v0.72.0 // indirect
	github.com/prometheus/procfs v0.22.0 // indirect
	github.com/yuin/gopher-lua v1.1.2 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	go.uber.org/multierr v1.10.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.48.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace (
	github.com/hasp-go/hasp => ..
	github.com/hasp-go/hasp/backend/embedded => ../backend/embedded
	github.com/hasp-go/hasp/backend/goredis => ../backend/goredis
	github.com/hasp-go/hasp/backend/rueidis => ../backend/rueidis
	github.com/hasp-go/hasp/backend/valkey => ../backend/valkey
	github.com/hasp-go/hasp/conformance => ../conformance
	github.com/hasp-go/hasp/hasptest => ../hasptest
	github.com/hasp-go/hasp/integration/httpidem => ../integration/httpidem
	github.com/hasp-go/hasp/integration/httplimit => ../integration/httplimit
	github.com/hasp-go/hasp/integration/prometheus => ../integration/prometheus
	github.com/hasp-go/hasp/luagen => ../luagen
)

tool github.com/hasp-go/hasp/luagen
