module github.com/hasp-go/hasp/conformance

go 1.25.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/hasp-go/hasp v0.0.0
	pgregory.net/rapid v1.3.0
)

require (
	go.uber.org/multierr v1.10.0 // indirect
	go.uber.org/zap v1.28.0 // indirect
)

require (
	github.com/stretchr/testify v1.12.1
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

replace github.com/hasp-go/hasp => ..
