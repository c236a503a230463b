module github.com/hasp-go/hasp/examples/ownbackend

go 1.25.0

require (
	github.com/gomodule/redigo v1.9.3
	github.com/hasp-go/hasp v0.0.0
	github.com/hasp-go/hasp/conformance v0.0.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/anishathalye/porcupine v1.3.1 // indirect
	go.uber.org/multierr v1.10.0 // indirect
	go.uber.org/zap v1.28.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	pgregory.net/rapid v1.3.0 // indirect
)

replace (
	github.com/hasp-go/hasp => ../..
	github.com/hasp-go/hasp/conformance => ../../conformance
)
