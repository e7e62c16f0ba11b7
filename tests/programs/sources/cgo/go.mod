module hakmem.test/cgo

go 1.19
