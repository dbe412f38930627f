// Browsers start no worker for a page that is read from disk; there, a hidden frame does the worker's work of searching.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.inside = frame.contentWindow
      const start = `
        postMessage = message => parent.postMessage(message, "*")
        importScripts = async (...urls) => {
          for (const url of urls)
            await new Promise((done, failed) => {
              const script = Object.assign(document.createElement("script"), { src: url, onload: done, onerror: failed })
              document.body.append(script)
            })
        }`
      this.inside.document.write(`<body><script>${start}</script><script src="${url}"></script></body>`)
      this.inside.document.close()
      this.isLoaded = new Promise(done => (this.inside.onload = done))
      window.addEventListener("message", event => {
        if (event.source === this.inside) this.dispatchEvent(new MessageEvent("message", { data: event.data }))
      })
    }
    postMessage(message) {
      const data = structuredClone(message)
      this.isLoaded.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
    }
    terminate() {}
  }
}
