/** The registry in memory under the conformance suite. */
import { registryConformance } from './conformance';
import { memoryFixture } from './memory-fixture';

registryConformance(() => Promise.resolve(memoryFixture()));
