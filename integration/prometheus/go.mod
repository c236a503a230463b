module github.com/hasp-go/hasp/integration/prometheus

go 1.25.0

require (
	github.com/hasp-go/hasp v0.0.0
	github.com/hasp-go/hasp/backend/embedded v0.0.0
	github.com/hasp-go/hasp/hasptest v0.0.0
	github.com/prometheus/client_golang v1.20.0
	github.com/stretchr/testify v1.9.0
)

require (
	github.com/alicebob/miniredis/v2 v2.40.0 // indirect
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/kylelemons/godebug v1.1.0 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	github.com/prometheus/client_model v0.6.1 // indirect
	github.com/prometheus/common v0.55.0 // indirect
	github.com/prometheus/procfs v0.15.1 // indirect
	github.com/yuin/gopher-lua v1.1.2 // indirect
	go.uber.org/multierr v1.10.0 // indirect
	go.uber.org/zap v1.26.0 // indirect
	golang.org/x/sys v0.22.0 // indirect
	google.golang.org/protobuf v1.34.2 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace (
	github.com/hasp-go/hasp => ../..
	github.com/hasp-go/hasp/backend/embedded => ../../backend/embedded
	github.com/hasp-go/hasp/hasptest => ../../hasptest
)
