module github.com/hasp-go/hasp/integration/httpidem

go 1.25.0

require (
	github.com/hasp-go/hasp v0.0.0
	github.com/hasp-go/hasp/backend/embedded v0.0.0
	github.com/hasp-go/hasp/hasptest v0.0.0
	github.com/stretchr/testify v1.8.1
)

require (
	github.com/alicebob/miniredis/v2 v2.40.0 // indirect
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	github.com/yuin/gopher-lua v1.1.2 // indirect
	go.uber.org/multierr v1.10.0 // indirect
	go.uber.org/zap v1.26.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace (
	github.com/hasp-go/hasp => ../..
	github.com/hasp-go/hasp/backend/embedded => ../../backend/embedded
	github.com/hasp-go/hasp/hasptest => ../../hasptest
)
