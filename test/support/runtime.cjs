/**
 * Jest's runtime, which compiles each module once a process instead of once a test file: parsing and
 * compiling the same packages anew for each of hundreds of files was a third of what their loading
 * took. Only the code is shared. Every test file still runs it in a context of its own, so it has modules
 * and globals of its own.
 *
 * It takes the place of a method that Jest keeps to itself, `ModuleExecutor.compile`, so look here first when
 * `jest-runtime` gets another version: where the method is gone this throws at once, and where nobody
 * calls it any more tests are slower and no different. It leaves out what that method does for native
 * `import()`, which fails without Node's --experimental-vm-modules anyway, and for core modules, which come
 * from Node.
 */
const { Script } = require('node:vm');
const { default: Runtime } = require('jest-runtime');

/** By file; that of another text is not used. */
const compiled = new Map();

class SharedCodeRuntime extends Runtime {
  constructor(...args) {
    super(...args);
    const { executor } = this;
    const compileAnew = executor.compile.bind(executor);
    const head = `(function (${executor.injectedModuleParameters.join(', ')}) {`;
    executor.compile = (source, filename) => {
      // A test file is run once.
      if (/\.test\.ts$/.test(filename)) return compileAnew(source, filename);
      const context = executor.environment.getVmContext();
      if (context === null) return null;
      let known = compiled.get(filename);
      if (known?.source !== source) {
        known = { source, script: scriptOf(head, source, filename) };
        compiled.set(filename, known);
      }
      return known.script?.runInContext(context) ?? compileAnew(source, filename);
    };
  }
}

/** None of what does not compile, of which Jest knows more to say. */
function scriptOf(head, source, filename) {
  try {
    return new Script(`${head}${source}\n})`, { filename, columnOffset: -head.length });
  } catch {
    return undefined;
  }
}

module.exports = SharedCodeRuntime;
