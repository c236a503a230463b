module github.com/hasp-go/hasp/conformance/matrix

go 1.25.0

require (
	github.com/alicebob/miniredis/v2 v2.40.0
	github.com/hasp-go/hasp v0.0.0
	github.com/hasp-go/hasp/backend/embedded v0.0.0
	github.com/hasp-go/hasp/backend/goredis v0.0.0
	github.com/hasp-go/hasp/backend/rueidis v0.0.0
	github.com/hasp-go/hasp/backend/valkey v0.0.0
	github.com/hasp-go/hasp/conformance v0.0.0
	github.com/hasp-go/hasp/hasptest v0.0.0
	github.com/redis/go-redis/v9 v9.22.0
	github.com/redis/rueidis v1.0.60
	github.com/stretchr/testify v1.8.1
	github.com/valkey-io/valkey-go v1.0.67
	go.uber.org/zap v1.26.0
)

require (
	github.com/anishathalye/porcupine v1.3.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	github.com/yuin/gopher-lua v1.1.2 // indirect
	go.uber.org/atomic v1.11.0 // indirect
	go.uber.org/multierr v1.10.0 // indirect
	golang.org/x/sys v0.31.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
	pgregory.net/rapid v1.3.0 // indirect
)

replace (
	github.com/hasp-go/hasp => ../..
	github.com/hasp-go/hasp/backend/embedded => ../../backend/embedded
	github.com/hasp-go/hasp/backend/goredis => ../../backend/goredis
	github.com/hasp-go/hasp/backend/rueidis => ../../backend/rueidis
	github.com/hasp-go/hasp/backend/valkey => ../../backend/valkey
	github.com/hasp-go/hasp/conformance => ..
	github.com/hasp-go/hasp/hasptest => ../../hasptest
)
