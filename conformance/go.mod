module github.com/hasp-go/hasp/conformance

go 1.25.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/hasp-go/hasp v0.0.0
	pgregory.net/rapid v1.3.0
)

require github.com/stretchr/testify v1.8.1

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	go.uber.org/multierr v1.10.0 // indirect
	go.uber.org/zap v1.26.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace github.com/hasp-go/hasp => ..
