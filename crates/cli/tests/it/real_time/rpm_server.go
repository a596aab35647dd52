// A server of the RPM test that shares no code with ours: HTTP/2 and TLS of Go's standard library. It prints its
// port and the SHA-256 of its certificate.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"time"
)

func main() {
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	of := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	certificate, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	at := listener.Addr().String()
	http.HandleFunc("/.well-known/nq", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"version": 1, "urls": {"large_download_url": "https://%[1]s/big", "small_download_url": "https://%[1]s/tiny", "upload_url": "https://%[1]s/up"}}`, at)
	})
	http.HandleFunc("/tiny", func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("x")) })
	http.HandleFunc("/big", func(w http.ResponseWriter, r *http.Request) {
		piece := make([]byte, 1<<16)
		// Slowly, so that the processor is not the limit.
		for range [2000]int{} {
			if _, err := w.Write(piece); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
	http.HandleFunc("/up", func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	fmt.Printf("%s %x\n", at, sha256.Sum256(certificate))
	server := &http.Server{TLSConfig: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}}}
	panic(server.ServeTLS(listener, "", ""))
}
